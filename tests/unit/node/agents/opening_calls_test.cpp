// SPDX-License-Identifier: MIT
#include "node/agents/opening_calls.hpp"

#include <gtest/gtest.h>

#include "contracts/calls/encode.hpp"
#include "contracts/calls/gas.hpp"

namespace retrace::node {
namespace {

solver::OpenRoots openings(std::uint64_t from, std::uint64_t to) {
    solver::OpenRoots move{7, 2, {}};
    for (std::uint64_t index = from; index < to; ++index) {
        solver::Opening opening;
        opening.index = index;
        opening.root.bytes[0] = static_cast<std::uint8_t>(index);
        opening.salt.bytes[1] = static_cast<std::uint8_t>(index);
        move.openings.push_back(opening);
    }
    return move;
}

TEST(OpeningCalls, ACallOpensNoMoreStatesThanTheLedgerTakesAndCostsLessThanACheckpoint) {
    const auto calls = opening_calls(openings(3, 3 + 1'024));
    ASSERT_EQ(calls.size(), 1'024 / kOpeningsACall);
    std::uint64_t next = 3;
    for (const contracts::OpenRoots& call : calls) {
        EXPECT_EQ(call.first, next);
        EXPECT_EQ(call.task, 7u);
        EXPECT_EQ(call.run, 2u);
        EXPECT_EQ(call.roots.size(), kOpeningsACall);
        EXPECT_LE(call.roots.size(), contracts::kOpeningsMax);
        EXPECT_LT(contracts::gas_of(call, contracts::calldata(call).size()),
                  contracts::gas_of(contracts::CommitCheckpoint{}, 0));
        EXPECT_EQ(call.salts.size(), call.roots.size());
        EXPECT_EQ(call.roots[1].bytes[0], static_cast<std::uint8_t>(next + 1));
        EXPECT_EQ(call.salts[1].bytes[1], static_cast<std::uint8_t>(next + 1));
        next += call.roots.size();
    }
}

TEST(OpeningCalls, AGapBeginsAnotherCall) {
    solver::OpenRoots move = openings(0, 6);
    move.openings.erase(move.openings.begin() + 2);
    const auto calls = opening_calls(move);
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0].roots.size(), 2u);
    EXPECT_EQ(calls[1].first, 3u);
    EXPECT_EQ(calls[1].roots.size(), 3u);
    EXPECT_TRUE(opening_calls(openings(4, 4)).empty());
}

}  // namespace
}  // namespace retrace::node
