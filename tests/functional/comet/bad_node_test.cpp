// SPDX-License-Identifier: MIT
// Nodes that cannot go on: each says so and ends, or shows it in its status, and none looks alive at a height at which
// it stays.
#include <sys/mount.h>

#include "tests/functional/comet/testnet_fixture.hpp"
#include "tests/netlab/namespaces.hpp"

namespace retrace::node {
namespace {

using testing::HasSubstr;

class BadNode : public TestnetTest {
protected:
    fs::path data() const { return folder_ / "node3" / "data"; }
    std::string log() const {
        std::ifstream in(folder_ / "node3" / "node.log");
        return {std::istreambuf_iterator<char>(in), {}};
    }
    template <class Condition>
    static bool soon(std::chrono::seconds time, const Condition& condition) {
        const auto end = Clock::now() + time;
        while (!condition() && Clock::now() < end) std::this_thread::sleep_for(50ms);
        return condition();
    }
    /// Starts node 3, which is to end by itself.
    void expect_end(const std::string& why) {
        std::ofstream(folder_ / "node3" / "node.log");
        ASSERT_TRUE(network_->restart(3).has_value());
        EXPECT_TRUE(soon(60s, [&] { return !network_->node(3).running(); })) << "expected: " << why;
        EXPECT_EQ(network_->node(3).exit_status(), 1);
        EXPECT_THAT(log(), HasSubstr(why));
    }
    /// Starts node 3, to which no other node talks.
    void expect_alone() {
        std::ofstream(folder_ / "node3" / "node.log");
        ASSERT_TRUE(network_->restart(3).has_value());
        ASSERT_TRUE(network_->await(3, 60s).has_value());
        EXPECT_TRUE(soon(60s, [&] { return log().find("event=no_peers") != std::string::npos; }));
        const json::value status = ask(3, "retrace_status");
        EXPECT_EQ(status.at("height"), 0);
        EXPECT_EQ(status.at("peers"), 0);
        EXPECT_TRUE(status.at("syncing").as_bool());
        EXPECT_TRUE(soon(30s, [&] { return ask(3, "retrace_status").at("stalled").as_bool(); }));
        network_->node(3).stop(15s);
    }
    /// Leaves node 3 its keys alone.
    void forget_all() {
        forget_chain(3);
        fs::remove(data() / "genesis");
        fs::remove(data() / "comet" / "config" / "genesis.json");
    }
    std::string read(const char* name) const {
        std::ifstream in(folder_ / "node3" / name);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(const char* name, const std::string& text) const { std::ofstream(folder_ / "node3" / name) << text; }
};

TEST_F(BadNode, AStartThatIsWrongEndsAndSaysWhy) {
    network_->node(3).stop(15s);
    const std::string config = read("retrace.toml"), genesis = read("genesis.json");

    // A program that is no CometBFT.
    const fs::path other = folder_ / "other";
    std::ofstream(other) << "#!/bin/sh\necho I am version 9\n";
    fs::permissions(other, fs::perms::owner_all);
    edit(3, "kind", "kind = \"comet\"\ncometbft = \"" + other.string() + "\"");
    expect_end("this CometBFT is version I am version 9; `./dev comet` makes");
    write("retrace.toml", config);

    // The data of one chain with the genesis of another one.
    replace_all(folder_ / "node3" / "genesis.json", "\"power\":1000000", "\"power\":1000001");
    expect_end("the data directory belongs to another chain");

    // CometBFT's part of the data is of another chain.
    write("genesis.json", genesis);
    replace_all(data() / "comet" / "config" / "genesis.json", "\"initial_height\":\"1\"", "\"initial_height\":\"2\"");
    expect_end("is not what this genesis gives");
}

TEST_F(BadNode, ANodeThatNobodyTalksToSaysSo) {
    network_->node(3).stop(15s);
    forget_all();
    const std::string genesis = read("genesis.json");
    replace_all(folder_ / "node3" / "genesis.json", "\"power\":1000000", "\"power\":1000001");
    expect_alone();

    forget_all();
    write("genesis.json", genesis);
    // The others would find it: it listens somewhere else.
    edit(3, "peers", "peers = [\"" + std::string(40, 'a') + "@127.0.0.6:1\"]");
    edit(3, "p2p_host", "p2p_host = \"127.0.0.6\"");
    expect_alone();
}

TEST_F(BadNode, ACometThatHangsIsReplaced) {
    const int hanging = child_of(network_->node(3).pid());
    ASSERT_GT(hanging, 0);
    ASSERT_EQ(::kill(hanging, SIGSTOP), 0);
    EXPECT_TRUE(soon(30s, [&] { return ask(3, "retrace_status").at("peers") == 0; })) << "it does not show old peers";
    EXPECT_TRUE(soon(120s, [&] { return log().find("no answer for 60 s") != std::string::npos; }));
    EXPECT_TRUE(reaches(3, height(0)));
    EXPECT_NE(child_of(network_->node(3).pid()), hanging);
    expect_equal_chains(height(0));
}

class FullDisk : public BadNode {
protected:
    void SetUp() override {
        require_comet();
        if (IsSkipped()) return;
        // The mount is seen by this process and its children, and ends with them.
        const auto namespaces = Namespaces::enter(0);
        if (!namespaces) GTEST_SKIP() << "SKIP: no private mounts: " << namespaces.error().message;
        make_network({});
        if (HasFatalFailure()) return;
        // The keys move to the small disk.
        const fs::path kept = folder_ / "kept";
        fs::rename(data(), kept);
        fs::create_directory(data());
        if (::mount("tmpfs", data().c_str(), "tmpfs", 0, "size=96m") != 0)
            GTEST_SKIP() << "SKIP: no tmpfs can be mounted here";
        fs::copy(kept, data(), fs::copy_options::recursive);
        start_processes(RETRACE_PROGRAM);
    }
    void TearDown() override {
        network_.reset();
        ::umount2(data().c_str(), MNT_DETACH);
        TestnetTest::TearDown();
    }
};

TEST_F(FullDisk, EndsTheNodeAndLosesNothing) {
    ASSERT_TRUE(reaches(3, 5));
    {
        std::ofstream filler(data() / "filler", std::ios::binary);
        const std::string block(4096, 'x');
        while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
    }
    EXPECT_TRUE(soon(120s, [&] { return !network_->node(3).running(); }));
    EXPECT_NE(network_->node(3).exit_status(), 0);
    EXPECT_THAT(log(), testing::ContainsRegex("[Nn]o space left"));
    const std::uint64_t without = height(0);
    ASSERT_TRUE(reaches(0, without + 3)) << "the others go on";

    fs::remove(data() / "filler");
    ASSERT_TRUE(network_->restart(3).has_value());
    ASSERT_TRUE(network_->await(3, 60s).has_value());
    expect_equal_chains(height(0));
}

}  // namespace
}  // namespace retrace::node
