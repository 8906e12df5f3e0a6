// SPDX-License-Identifier: MIT
// The hash chains that a verifier registers one after the other.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/solver/tiny_task.hpp"
#include "verifier/agent/agent.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

/// Over years, no link is revealed twice, because anyone who knows a link sees the draws before they are made.
TEST(BeaconChains, OneThatComesToItsEndIsFollowedByTheNext) {
    TinyTask task;
    TemporaryDirectory directory;
    const auto store = solver::CheckpointStore::open(directory.path).value();
    solver::TaskCache task_cache(task.source, task.pool);
    VerifierConfig config;
    config.secret = Hash32{{9}};
    config.beacon_length = 8;
    config.beacon_chains = 3;
    VerifierAgent agent(config, task_cache, *store);
    std::set<Hash32> revealed;
    std::optional<Hash32> head = agent.beacon().head_to_register(std::nullopt);
    ASSERT_EQ(head, agent.beacon().beacon_head(0));
    for (int epoch = 0; epoch < 7 + 7 + 8; ++epoch) {
        VerifierAgent restarted(config, task_cache, *store);
        const auto preimage = (epoch % 2 == 0 ? agent : restarted).beacon().before(*head);
        ASSERT_TRUE(preimage.has_value()) << epoch;
        EXPECT_EQ(solver::beacon_link(*preimage), *head);
        EXPECT_TRUE(revealed.insert(*preimage).second) << epoch;
        head = preimage;
        const auto next = agent.beacon().next_head(*head);
        EXPECT_EQ(next, restarted.beacon().next_head(*head)) << "whatever it remembers";
        EXPECT_EQ(next.has_value(), epoch == 6 || epoch == 13) << epoch;
        if (next) head = next;
    }
    EXPECT_EQ(revealed.size(), 7U + 7 + 8) << "the last one to its end";
    EXPECT_FALSE(agent.beacon().head_to_register(head).has_value()) << "all are used up";
    EXPECT_FALSE(agent.beacon().next_head({}).has_value()) << "another's head is not replaced";
}

}  // namespace
}  // namespace retrace::test
