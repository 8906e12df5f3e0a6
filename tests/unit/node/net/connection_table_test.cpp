// SPDX-License-Identifier: MIT
// Who loses a connection when a server is full.
#include "node/net/connection_table.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace retrace::node {
namespace {

using Place = ConnectionTable::Place;
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct FullTable : ::testing::Test {
    explicit FullTable(ConnectionTable::Limits limits = {.connections = 6, .per_address = 4, .reserved = 2})
        : table(limits) {}

    ConnectionTable table;
    ConnectionTable::Time now{};
    ConnectionTable::Id newest = 0;

    /// Adds a connection of the address a second later, and returns the one that it replaces.
    std::optional<ConnectionTable::Id> enter(const std::string& address, bool busy = false) {
        now += std::chrono::seconds(1);
        const Place place = table.enter(++newest, address, now);
        EXPECT_TRUE(place.free);
        if (busy) table.begin_request(newest, now);
        return place.evicted;
    }
    bool is_refused(const std::string& address) {
        const Place place = table.enter(++newest, address, now);
        return !place.free && !place.evicted && !table.contains(newest);
    }
};

TEST_F(FullTable, WhoHoldsMostLosesABusyConnection) {
    for (int i = 0; i < 4; ++i) enter("a", true);
    for (int i = 0; i < 2; ++i) enter("b", true);
    EXPECT_EQ(enter("c", true), 1u) << "the one that has been busy longest";
    EXPECT_FALSE(table.contains(1));
    EXPECT_EQ(table.count("a"), 3u);
    EXPECT_EQ(table.count("c"), 1u);
}

TEST_F(FullTable, WhatWaitsLeavesBeforeWhatIsBusy) {
    for (int i = 0; i < 4; ++i) enter("a", true);
    for (int i = 0; i < 2; ++i) enter("b", false);
    table.begin_wait(3, now);
    table.begin_wait(2, now + std::chrono::seconds(1));
    EXPECT_EQ(enter("c"), 3u) << "not the one that waits longer for an address with fewer";
}

TEST_F(FullTable, AnAddressWithOneConnectionKeepsIt) {
    enter("honest");  // 1, the only one that waits
    for (int i = 0; i < 3; ++i) enter("a", true);
    for (int i = 0; i < 2; ++i) enter("b", true);
    for (const char* newcomer : {"c", "d", "e"}) {
        const auto evicted = enter(newcomer, true);
        EXPECT_TRUE(evicted.has_value()) << newcomer;
        EXPECT_TRUE(table.contains(1)) << newcomer << " came while another address held two";
    }
    EXPECT_EQ(table.count("a") + table.count("b"), 2u);
    EXPECT_EQ(table.count("honest"), 1u);
}

TEST_F(FullTable, WhoWouldHoldMostEndsNoRequestOfOthers) {
    for (int i = 0; i < 3; ++i) enter("a", true);
    for (int i = 0; i < 3; ++i) enter("b", true);
    EXPECT_TRUE(is_refused("a"));
    table.begin_wait(2, now);
    EXPECT_EQ(enter("a"), 2u) << "it may replace what it keeps waiting itself";
    enter("c", true);  // of three and three: one of them has two now
    enter("c", true);
    EXPECT_EQ(table.count("a") + table.count("b"), 4u);
    EXPECT_TRUE(is_refused("c")) << "two, two and two: nobody takes turns at ending the others' requests";
}

TEST_F(FullTable, AnAddressHasSoManyPlaces) {
    for (int i = 0; i < 4; ++i) enter("a", i != 2);
    EXPECT_EQ(enter("a", true), 3u) << "it waited";
    EXPECT_TRUE(is_refused("a")) << "although there are places";
}

TEST_F(FullTable, ThisMachineTakesAPlaceOfOthers) {
    for (const char* address : {"a", "b", "c", "d", "e", "f"}) enter(address, true);
    EXPECT_EQ(enter("", true), 1u) << "though each of them holds one";
    EXPECT_EQ(enter("", true), 2u);
    EXPECT_TRUE(is_refused("g")) << "its places are its own";
    EXPECT_EQ(table.count(""), 2u);
}

TEST_F(FullTable, WhatLeavesFreesItsPlace) {
    for (int i = 0; i < 4; ++i) enter("a", true);
    for (int i = 0; i < 2; ++i) enter("b", true);
    table.leave(5);
    table.leave(5);
    EXPECT_EQ(table.count("b"), 1u);
    EXPECT_EQ(enter("c"), std::nullopt);
}

struct LocalCrowd : FullTable {
    LocalCrowd() : FullTable({.connections = 6, .per_address = kAny, .reserved = 2}) {}
};

TEST_F(LocalCrowd, CountsBeyondItsShareAsOthersDo) {
    for (int i = 0; i < 5; ++i) enter("", true);
    enter("a", true);
    EXPECT_EQ(enter("a", true), 1u) << "three beyond its two, so it holds most";
    EXPECT_TRUE(is_refused("a")) << "two each";
    EXPECT_EQ(enter(""), 2u) << "its own: an agent or a wallet of this machine is never refused";
}

/// An attacker with N addresses cannot hold more than the N-th part with each of them against the others.
TEST(ConnectionTableOfMany, NobodyPushesOutWhoHoldsFewer) {
    const unsigned seed = 7;
    std::mt19937 random(seed);
    ConnectionTable table({.connections = 64, .per_address = kAny, .reserved = 0});
    ConnectionTable::Time now{};
    std::vector<std::string> owner_of{""};
    for (ConnectionTable::Id id = 1; id < 20'000; ++id) {
        const std::string address = "address " + std::to_string(random() % 12);
        now += std::chrono::milliseconds(1);
        const std::size_t before = table.count(address);
        std::size_t most = 0;
        for (int i = 0; i < 12; ++i) most = std::max(most, table.count("address " + std::to_string(i)));
        const Place place = table.enter(id, address, now);
        owner_of.push_back(address);
        if (place.evicted) {
            const std::string& loser = owner_of[*place.evicted];
            if (loser != address) {
                ASSERT_EQ(table.count(loser) + 1, most) << "seed " << seed << ", connection " << id;
                ASSERT_LT(before, most) << "seed " << seed << ", connection " << id;
            }
        }
        if (place.free && random() % 4 != 0) table.begin_request(id, now);
    }
    for (int i = 0; i < 12; ++i) EXPECT_GE(table.count("address " + std::to_string(i)), 64u / 12 - 1);
}

}  // namespace
}  // namespace retrace::node
