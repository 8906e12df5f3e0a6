// SPDX-License-Identifier: MIT
// Games on the ledger satisfy tests/stateful/SPEC.md; and the games find injected faults, and print how to repeat them.
#include "tests/stateful/games.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/stateful/faults.hpp"

namespace retrace::stateful {
namespace {

struct Found {
    std::string property;
    Trace shortest;
};

Options options_of(const ledger::TxExecutor* executor) {
    Options options;
    options.executor = executor;
    options.calls_max = 1'500;
    options.check_every = 1;
    return options;
}

/// Returns the shortest of the first three failures, each shortened, in at most `games` games with this executor. A call
/// names tasks by their numbers, so the trace of one game may be long because of the tasks before.
std::optional<Found> find(const ledger::TxExecutor* executor, std::uint64_t games) {
    const Options options = options_of(executor);
    Coverage coverage;
    std::optional<Found> best;
    for (std::uint64_t seed = 1, failures = 0; seed <= games && failures < 3; ++seed) {
        const Played played = play_seed(seed, options, coverage);
        if (!played.failure) continue;
        ++failures;
        Found found{played.failure->what(), shrink(played.trace, played.failure->property, options, 20)};
        if (!best || found.shortest.events.size() < best->shortest.events.size()) best = std::move(found);
    }
    return best;
}

TEST(Games, HoldWhatTheLedgerPromises) {
    const auto found = find(nullptr, 8);
    EXPECT_FALSE(found.has_value()) << found->property << "\n" << to_text(found->shortest);
}

TEST(Games, FindBooksThatDoNotBalance) {
    const InventsACoin faulty;
    const auto found = find(&faulty, 20);
    ASSERT_TRUE(found.has_value());
    EXPECT_THAT(found->property, testing::HasSubstr("holds the sum of its records"));
    EXPECT_LE(found->shortest.events.size(), 25u) << to_text(found->shortest);
    EXPECT_TRUE(replay(found->shortest, options_of(&faulty)).has_value());
    EXPECT_FALSE(replay(found->shortest, options_of(nullptr)).has_value())
        << "by the right rules it is a game like any other";
}

TEST(Games, FindADeadlineThatIsForgotten) {
    const ForgetsADeadline faulty;
    const auto found = find(&faulty, 20);
    ASSERT_TRUE(found.has_value());
    EXPECT_THAT(found->property, testing::HasSubstr("a checkpoint is due by a deadline scheduled"));
    EXPECT_LE(found->shortest.events.size(), 25u) << to_text(found->shortest);
}

TEST(Games, FindARefusalThatReadsTooMuch) {
    const ReadsTooMuch faulty;
    const auto found = find(&faulty, 20);
    ASSERT_TRUE(found.has_value());
    EXPECT_THAT(found->property, testing::HasSubstr("the records that a call reads are bounded by its gas"));
    EXPECT_LE(found->shortest.events.size(), 3u) << to_text(found->shortest);
}

TEST(Games, FindAnAbort) {
    const Aborts faulty;
    const auto found = find(&faulty, 20);
    ASSERT_TRUE(found.has_value());
    EXPECT_THAT(found->property, testing::HasSubstr("nothing aborts: a solver has one task"));
    EXPECT_LE(found->shortest.events.size(), 30u) << to_text(found->shortest);
}

TEST(Games, FindAStateThatDependsOnTheProcess) {
    const DependsOnTheProcess faulty;
    Options options = options_of(&faulty);
    options.restart_every = 4;
    Coverage coverage;
    std::optional<Failure> failure;
    for (std::uint64_t seed = 1; seed <= 5 && !failure; ++seed) failure = play_seed(seed, options, coverage).failure;
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->property, "the same calls make the same state, with restarts and without");
}

/// fuzz_chain fails by these names, so its players do not lose a refusal unseen.
TEST(Games, NameTheRefusalsThatNoneOfThemReached) {
    Coverage coverage;
    EXPECT_THAT(never_reached(coverage),
                testing::IsSupersetOf(
                    {"refusal not_requester of withdrawReservation", "refusal not_solver of acceptReservation",
                     "refusal not_requester of beginReserved", "method acceptReservation", "reservation state 6"}));
    coverage.calls[{"acceptReservation", static_cast<std::uint16_t>(contracts::CallStatus::not_solver)}] = 1;
    EXPECT_THAT(never_reached(coverage), testing::Not(testing::Contains("refusal not_solver of acceptReservation")));
}

TEST(Traces, AreReadAsTheyWereWritten) {
    Options options;
    options.calls_max = 200;
    Draws draws(5);
    Profile profile = profile_of(draws);
    profile.calls = 200;
    World world(profile.params, profile.accounts, options);
    play(world, profile, draws);
    const auto read = read_trace(to_text(world.trace()));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->params, world.trace().params);
    EXPECT_EQ(read->accounts, world.trace().accounts);
    EXPECT_EQ(read->events, world.trace().events);
    EXPECT_FALSE(read_trace("call nobody 9 x y").has_value());
}

/// The kept trace still reaches what it was kept for: by the gas of a call that closes nothing it fails, by the right gas not.
TEST(Traces, OfTheCorpusSettlesMoreThanACallsGasPaysFor) {
    std::ifstream in(std::filesystem::path(RETRACE_CORPUS) / "many_records_at_settlement.trace");
    const auto trace = read_trace(std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    ASSERT_FALSE(trace->events.empty());
    const SettlesForACallsGas faulty;
    const auto failure = replay(*trace, options_of(&faulty));
    ASSERT_TRUE(failure.has_value()) << "make it again: its calls are refused, or write less";
    EXPECT_THAT(failure->what(),
                testing::HasSubstr("the records that a call writes are bounded by its gas: acceptModel"));
    EXPECT_FALSE(replay(*trace, options_of(nullptr)).has_value());
}

}  // namespace
}  // namespace retrace::stateful
