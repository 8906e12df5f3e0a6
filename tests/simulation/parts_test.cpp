// SPDX-License-Identifier: MIT
// The parts of the simulation itself: randomness, time, network, disks.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/simulation/disk.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

TEST(Chance, OneSeedGivesOneSequenceAndForksAreTheirOwn) {
    Random a(7), b(7);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
    Random one = a.fork("network"), other = b.fork("host");
    EXPECT_NE(one.next(), other.next());
    EXPECT_EQ(a.next(), b.next()) << "a fork takes one draw whatever its name";
}

TEST(Time, EventsHappenInOrderAndEqualTimesInTheOrderOfTheirMaking) {
    Clock clock;
    std::string order;
    clock.at(20, [&] { order += 'c'; });
    clock.at(10, [&] {
        order += 'a';
        clock.at(5, [&] { order += 'b'; });  // In the past, so it runs now.
        clock.after(10, [&] { order += 'd'; });
    });
    while (clock.step()) {
    }
    EXPECT_EQ(order, "abcd");
    EXPECT_EQ(clock.now(), 20u);
}

TEST(Net, DelaysStayWithinTheirBoundAndLetLaterMessagesOvertake) {
    Network network(Random(1), {.delay_max = 50, .loss_permille = 0, .losses_in_a_row = 0});
    Millis latest = 0;
    bool overtaken = false;
    for (Millis now = 0; now < 200; ++now) {
        const auto arrival = network.send(1, 2, now);
        ASSERT_TRUE(arrival.has_value());
        EXPECT_GT(*arrival, now);
        EXPECT_LE(*arrival, now + 50);
        overtaken = overtaken || *arrival < latest;
        latest = std::max(latest, *arrival);
    }
    EXPECT_TRUE(overtaken);
}

TEST(Net, WhatIsRepeatedArrives) {
    Network network(Random(1), {.delay_max = 5, .loss_permille = 1000, .losses_in_a_row = 2});
    int lost = 0, in_a_row = 0;
    for (Millis now = 0; now < 300; ++now) {
        in_a_row = network.send(1, 2, now) ? 0 : in_a_row + 1;
        lost += in_a_row == 0 ? 0 : 1;
        ASSERT_LE(in_a_row, 2);
    }
    EXPECT_EQ(lost, 200);
}

TEST(Net, NothingPassesACutInEitherDirectionAndEverythingAfterIt) {
    Network network(Random(1), {.delay_max = 1, .loss_permille = 0, .losses_in_a_row = 0});
    network.cut(2, 100, 200);
    EXPECT_TRUE(network.send(1, 2, 90));
    EXPECT_FALSE(network.send(1, 2, 150));
    EXPECT_FALSE(network.send(2, 1, 150));
    EXPECT_TRUE(network.send(1, 3, 150)) << "others go on";
    EXPECT_FALSE(network.send(1, 2, 99)) << "it would arrive in the cut";
    EXPECT_TRUE(network.send(1, 2, 200));
}

class Disk : public ::testing::Test {
protected:
    Disk() { std::filesystem::create_directories(folder); }
    ~Disk() override { std::filesystem::remove_all(folder); }
    void write(const std::string& name, const std::string& text) {
        std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << text;
    }
    std::filesystem::path folder = scratch_folder();
};

TEST_F(Disk, ATornWriteLeavesAPrefixOfWhatHappened) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder);
        write("old.tensor", "old");
        write("a.state", "before");
        const DiskImage before = image_of(folder);
        write("new.tensor", "new tensor");
        write("a.state", "after");
        std::filesystem::remove(folder / "old.tensor");
        Random random(seed);
        tear(folder, before, random);
        const bool tensor = std::filesystem::exists(folder / "new.tensor");
        const bool removed = !std::filesystem::exists(folder / "old.tensor");
        std::ifstream in(folder / "a.state");
        const std::string state(std::istreambuf_iterator<char>(in), {});
        EXPECT_TRUE(state == "before" || state == "after") << "a file that was renamed is whole";
        EXPECT_TRUE(tensor || state == "before") << "no manifest before its tensors";
        EXPECT_TRUE(state == "after" || !removed) << "nothing is removed before the manifest is there";
        seen.insert(std::string(tensor ? "t" : "-") + (state == "after" ? "s" : "-") + (removed ? "r" : "-"));
    }
    EXPECT_EQ(seen, (std::set<std::string>{"---", "t--", "ts-", "tsr"})) << "every moment happens";
}

}  // namespace
}  // namespace retrace::sim
