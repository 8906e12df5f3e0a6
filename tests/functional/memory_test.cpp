// SPDX-License-Identifier: MIT
// Tasks that need more memory than a party's memory quota: the party reports this and continues to work.
#include <gmock/gmock.h>

#include "tests/functional/market_fixture.hpp"

namespace retrace::testing {
namespace {

using ::testing::HasSubstr;

const std::string kSmall = " --hidden 16 --batch 16 --price-ceiling 1 --steps 4 --checkpoint-every 2";

const std::map<std::string, std::uint64_t> kTimeToBid{{"bid_blocks", 40}, {"reveal_blocks", 40}, {"epoch_blocks", 10}};

class Memory : public MarketTest {
protected:
    std::string log_of(Role role) const { return text_of(network_->log_of(std::string(node::name_of(role)))); }
    /// The remaining parties complete a later task of the usual size.
    void do_a_small_task() {
        const std::uint64_t id = submit(compile(kSmall, "small"));
        ASSERT_NE(id, 0U);
        EXPECT_EQ(say("task follow " + std::to_string(id) + node()).at("state").as_string(), "delivering");
    }
};

TEST_F(Memory, AProgramOfAFewKilobytesThatAsksForGigabytesIsDeclinedByName) {
    start({{Role::honest_solver, {"--price", "0.5", "--stake", "400000", "--memory", "1024"}},
           {Role::verifier_1, {"--memory", "1024"}},
           {Role::verifier_2, {"--memory", "1024"}}},
          kTimeToBid);
    if (HasFatalFailure()) return;
    const std::string wide = compile(
        " --hidden 60000 60000 --batch 1 --price-ceiling 1 --steps 4 --checkpoint-every 2 --optimizer sgd "
        "--momentum 0",
        "wide");
    std::uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(wide))
        if (file.path().extension() == ".rtp") bytes += file.file_size();
    EXPECT_LT(bytes, 64u << 10) << "its programs";
    const std::uint64_t id = submit(wide);
    ASSERT_NE(id, 0U);
    until("the task ends", [&](const node::RemoteState& state) {
        const auto task = views::task(state, id);
        return task && market::is_final(task->state);
    });
    if (HasFatalFailure()) return;
    EXPECT_THAT(log_of(Role::honest_solver), HasSubstr("decline task=" + std::to_string(id)));
    EXPECT_THAT(log_of(Role::honest_solver), HasSubstr("bytes of memory and 1073741824 are allowed (--memory)"));
    read([&](const node::RemoteState& state) {
        EXPECT_TRUE(views::stake(state, network_->address(Role::honest_solver)).locked.is_zero())
            << "it left for nothing";
    });
    EXPECT_TRUE(network_->running(Role::honest_solver));
    do_a_small_task();
}

/// The state takes 43 MB: six layers of 768 x 768 or more, each with two moments.
TEST_F(Memory, ASolverWithLessMemoryThanTheStateTrainsOnDisk) {
    const std::string task =
        compile(" --hidden 768 768 768 768 768 768 --batch 8 --price-ceiling 1 --steps 4 --checkpoint-every 2", "deep");
    const fs::path disk = path("disk");
    start({{Role::cheating_solver, {"--price", "0.3", "--stake", "400000", "--memory", "38"}},
           {Role::honest_solver, {"--price", "0.5", "--stake", "400000", "--memory", "38", "--offload", disk.string()}},
           {Role::verifier_1, {}},
           {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::uint64_t id = submit(task);
    ASSERT_NE(id, 0U);
    EXPECT_EQ(say("task follow " + std::to_string(id) + node()).at("state").as_string(), "delivering");
    EXPECT_EQ(fetched_root(id), root_of(task));
    EXPECT_THAT(log_of(Role::cheating_solver), HasSubstr("bytes of memory and 39845888 are allowed (--memory)"))
        << "without a disk";
    EXPECT_TRUE(fs::is_empty(disk)) << "its files have no names";
}

}  // namespace
}  // namespace retrace::testing
