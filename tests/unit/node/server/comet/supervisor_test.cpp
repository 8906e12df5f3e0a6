// SPDX-License-Identifier: MIT
// The child process, played by shell scripts.
#include "node/server/comet/supervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "node/server/comet/version.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using engine::find_consensus_failure;
using engine::Supervisor;
using testing::HasSubstr;
using testing::StartsWith;

class CometChild : public testing::Test {
protected:
    /// A program that is started as CometBFT would be.
    void write_program(const std::string& script) {
        std::ofstream(folder_.file("cometbft")) << "#!/bin/sh\n" << script;
        fs::permissions(folder_.file("cometbft"), fs::perms::owner_all);
    }
    engine::SupervisorOptions options() {
        engine::SupervisorOptions out;
        out.program = folder_.file("cometbft");
        out.home = folder_.path();
        out.log = folder_.file("log");
        out.height = [this] { return height_.load(); };
        out.on_start = [this] { ++starts_; };
        out.on_failed = [this](const std::string& why) {
            why_ = why;
            failed_ = true;
        };
        return out;
    }
    template <class Condition>
    bool soon(const Condition& condition) {
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
        return condition();
    }

    TempFolder folder_;
    std::atomic<int> starts_ = 0;
    std::atomic<std::uint64_t> height_ = 7;
    std::atomic<bool> failed_ = false;
    std::string why_;
};

TEST_F(CometChild, IsStartedAgainAndGivenUpAfterThreeDeathsAtOneHeight) {
    write_program("echo the disk is full\nexit 3\n");
    const Supervisor supervisor(options());
    ASSERT_TRUE(soon([&] { return failed_.load(); }));
    EXPECT_EQ(starts_, 3);
    EXPECT_THAT(why_, StartsWith("CometBFT ended 3 times at height 7 (exit status 3): the disk is full"));
}

TEST_F(CometChild, IsNotGivenUpWhileTheChainGrows) {
    write_program("exit 3\n");
    engine::SupervisorOptions growing = options();
    growing.height = [this] { return ++height_; };
    const Supervisor supervisor(growing);
    EXPECT_TRUE(soon([&] { return starts_ >= 4; }));
    EXPECT_FALSE(failed_);
}

TEST_F(CometChild, EndsWithTheSupervisor) {
    write_program("echo $$ > " + folder_.file("pid") + "\nexec sleep 60\n");
    int pid = 0;
    {
        const Supervisor supervisor(options());
        ASSERT_TRUE(soon([&] { return (std::ifstream(folder_.file("pid")) >> pid) && pid != 0; }));
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(CometChild, IsStartedAgainWhenItsConsensusHasFailed) {
    write_program("echo 'E[2026-11-28|19:09:32.122] CONSENSUS FAILURE!!! module=consensus err=full'\nexec sleep 60\n");
    const Supervisor supervisor(options());
    ASSERT_TRUE(soon([&] { return failed_.load(); }));
    EXPECT_EQ(starts_, 3);
    EXPECT_THAT(why_, HasSubstr("CONSENSUS FAILURE!!! module=consensus err=full"));
}

TEST_F(CometChild, IsStartedAgainWhenItIsSaidToHang) {
    write_program("exec sleep 60\n");
    engine::SupervisorOptions hanging = options();
    hanging.on_tick = [this] { return std::string(starts_ < 2 ? "no answer" : ""); };
    const Supervisor supervisor(hanging);
    ASSERT_TRUE(soon([&] { return starts_ == 2; }));
    std::this_thread::sleep_for(500ms);
    EXPECT_EQ(starts_, 2);
    EXPECT_FALSE(failed_);
}

TEST_F(CometChild, DoesNotDieOfWhatAnEarlierOneWrote) {
    std::ofstream(folder_.file("log")) << "E[2026-11-28|19:09:32.122] CONSENSUS FAILURE!!! module=consensus\n";
    write_program("exec sleep 60\n");
    const Supervisor supervisor(options());
    ASSERT_TRUE(soon([&] { return starts_ == 1; }));
    std::this_thread::sleep_for(500ms);
    EXPECT_EQ(starts_, 1);
}

TEST_F(CometChild, ALongLogGoesOnInAnEmptyFile) {
    write_program(
        "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done\n"
        "while [ ! -e " +
        folder_.file("go") +
        " ]; do sleep 0.01; done\necho \"E[2026-11-28|09:50:11.000] CONSENSUS FAILURE!!! err=x\"\n"
        "exec sleep 60\n");
    auto limited = options();
    limited.log_max = 500;
    const Supervisor supervisor(std::move(limited));
    ASSERT_TRUE(soon([&] { return fs::exists(folder_.file("log.1")) && fs::file_size(folder_.file("log")) == 0; }));
    EXPECT_GE(fs::file_size(folder_.file("log.1")), 500U);
    std::ofstream(folder_.file("go")).flush();
    EXPECT_TRUE(soon([&] { return starts_ > 1; })) << "what follows in the empty file is read from its beginning";
}

TEST_F(CometChild, OfAnotherVersionIsRefusedByName) {
    const auto refusal = [&](const std::string& script) {
        write_program(script);
        const auto checked = engine::program_line(folder_.file("cometbft"), folder_.file("version.txt"));
        EXPECT_FALSE(fs::exists(folder_.file("version.txt")));
        return checked ? "" : checked.error().message;
    };
    EXPECT_EQ(refusal("[ \"$1\" = version ] && echo 0.38.25\n"), "");
    EXPECT_THAT(refusal("echo 0.39.4\n"), HasSubstr("version 0.39.4; `./dev comet` makes 0.38.25"));
    for (const char* version : {"0.39.0", "0.40.0", "0.40.12"})
        EXPECT_EQ(engine::line_of(version), engine::CometLine::v0_40) << version;
    for (const char* version : {"0.38.21", "0.38.25"})
        EXPECT_EQ(engine::line_of(version), engine::CometLine::v0_38) << version;
    for (const char* version : {"", "0.38.", "0.40.", "0.39.1", "0.41.0", "1.0.1", "0.40.1x"})
        EXPECT_EQ(engine::line_of(version), std::nullopt) << version;
    EXPECT_THAT(refusal("echo 0.38.20\n"), HasSubstr("version 0.38.20"));
    EXPECT_THAT(refusal("yes 0.38.25 | head -c 1000000\n"), "") << "only the first line counts";
    EXPECT_THAT(refusal("exit 1\n"), HasSubstr("version` fails"));
}

TEST(ConsensusFailure, IsAMessageAndNeverAValue) {
    // A peer's bytes can be in a value: this line comes of an address that it sent.
    EXPECT_EQ(find_consensus_failure("E[2026-11-28|19:09:32.122] Stopping peer for error module=p2p err=\"invalid IP "
                                     "address CONSENSUS FAILURE!!!\"\n"),
              "");
    EXPECT_EQ(find_consensus_failure("CONSENSUS FAILURE!!!\n"), "");
    EXPECT_EQ(find_consensus_failure("\n\nI[2026-11-28|19:09:32.122] ok\n"
                                     "E[2026-11-28|19:09:32.122] CONSENSUS FAILURE!!! err=x\n"),
              "CONSENSUS FAILURE!!! err=x");
    EXPECT_EQ(find_consensus_failure(""), "");
}

}  // namespace
}  // namespace retrace::node::test
