// SPDX-License-Identifier: MIT
// One worker and many deadlines: the earliest deadline goes first, and a long replay does not delay it. SPEC 8.6.
#include <gtest/gtest.h>

#include "tests/unit/verifier/agent/one_worker.hpp"
#include "verifier/agent/keys.hpp"

namespace retrace::test {
namespace {

using Urgency = OneWorker;

TEST_F(Urgency, TheSeatThatIsDueFirstGoesFirst) {
    begin();
    sit(10, 5, 1, 500);
    sit(11, 6, 2, 140);
    sit(12, 6, 3, 0);
    for (const char* name : {"replay task 6 segment 2", "replay task 5 segment 1", "replay task 6 segment 3"}) {
        const auto out = next();
        ASSERT_TRUE(out.work);
        EXPECT_EQ(out.work->what, name);
        run(*out.work);
    }
}

TEST_F(Urgency, ALongReplayIsPreemptedForASeatThatIsDueEarlierAndGoesOnWhereItWas) {
    begin();
    sit(10, 5, 1, 5'000);
    auto out = next();
    ASSERT_TRUE(out.work);
    run(*out.work, 3, [&] { sit(11, 6, 2, 140); });
    EXPECT_EQ(steps, 3u) << "the step that had begun is the last";
    EXPECT_TRUE(agent->take_problems().empty());
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 6 segment 2");
    run(*out.work);
    out = next();
    EXPECT_EQ(committed(out), Audits{11});
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 5 segment 1");
    run(*out.work);
    EXPECT_EQ(steps, 2 * kSegment) << "no step was made twice";
    EXPECT_EQ(committed(next()), Audits{10});
    for (const auto& [id, index] : {std::pair{5, 2}, std::pair{6, 3}})
        EXPECT_EQ(party->store->commitment({std::uint64_t(id), 0, std::uint64_t(index)})->root, root(index));
}

TEST_F(Urgency, AStepThatTakesTooLongIsLeftBetweenTwoOpsAndItsSegmentBegunAgain) {
    timeout = std::chrono::milliseconds(0);
    begin();
    sit(10, 5, 1, 5'000);
    run(*next().work, 3, [&] { sit(11, 6, 2, 140); });
    EXPECT_EQ(steps, 3u);
    EXPECT_TRUE(agent->take_problems().empty());
    run(*next().work);
    auto out = next();
    EXPECT_EQ(committed(out), Audits{11});
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 5 segment 1");
    run(*out.work);
    EXPECT_EQ(steps, 3 + 2 * kSegment) << "three steps were for nothing";
    EXPECT_EQ(committed(next()), Audits{10});
    EXPECT_EQ(party->store->commitment({5, 0, 2})->root, root(2));
}

TEST_F(Urgency, ASeatThatIsDueLaterWaits) {
    begin();
    sit(10, 5, 1, 140);
    const auto out = next();
    ASSERT_TRUE(out.work);
    run(*out.work, 3, [&] { sit(11, 6, 2, 141); });
    EXPECT_EQ(steps, kSegment);
    EXPECT_EQ(committed(next()), Audits{10});
}

TEST_F(Urgency, OfOneTaskOneStateIsInMemoryAndTheOthersAreOnDisk) {
    begin();
    sit(10, 5, 1, 5'000);
    run(*next().work, 3, [&] { sit(11, 5, 2, 400); });
    run(*next().work, 2, [&] { sit(12, 6, 3, 140); });
    EXPECT_EQ(steps, 5u);
    const auto saved = party->store->newest(5, kKeyMarks, UINT64_MAX);
    ASSERT_TRUE(saved);
    EXPECT_EQ(saved->index, kSegment + 3) << "where the first one left off";
    for (int i = 0; i < 3; ++i) run(*next().work);
    EXPECT_EQ(steps, 3 * kSegment) << "both went on where they were";
    EXPECT_EQ(committed(next()).size(), 1u);
    for (const auto& [id, index] : {std::pair{5, 2}, std::pair{5, 3}, std::pair{6, 4}})
        EXPECT_EQ(party->store->commitment({std::uint64_t(id), 0, std::uint64_t(index)})->root, root(index));
    EXPECT_FALSE(party->store->newest(5, kKeyMarks, UINT64_MAX)) << "and the disk is free again";
}

/// A solver that withholds one state of a task kept its auditors from all other segments of that task: each attempt to
/// fetch it dropped the replay that it interrupted.
TEST_F(Urgency, AStateThatIsNotServedCostsTheReplayThatItInterruptsNothing) {
    begin();
    sit(10, 5, 1, 5'000);
    sit(11, 5, 2, 140);
    view.audits[1].start_root = Hash32{{1}};  // Nobody has it.
    for (std::size_t i = 1; i < kSegment; ++i) {
        run(*next().work);  // The fetch that fails
        auto out = next();
        ASSERT_TRUE(out.work);
        EXPECT_EQ(out.work->what, "replay task 5 segment 1");
        run(*out.work, 1, [&] { view.height += 100; });
        EXPECT_EQ(steps, i);
    }
    run(*next().work);
    run(*next().work);
    EXPECT_EQ(steps, kSegment);
    EXPECT_EQ(committed(next()), Audits{10});
}

/// Disk and memory of a verifier that is always busy do not grow.
TEST_F(Urgency, WhatNoViewAsksForIsDeletedAlthoughThereIsOtherWork) {
    begin();
    sit(10, 5, 1, 140);
    run(*next().work);
    EXPECT_FALSE(party->store->runs().empty());
    view.audits.clear();
    sit(11, 6, 2, 140);
    ASSERT_TRUE(next().work);
    EXPECT_TRUE(party->store->runs().empty());
}

TEST_F(Urgency, WhatNobodyAskedForIsPreemptedAndFindsWhatItWouldHaveFound) {
    begin(solver::attacking_runners(solver::ComputeAttack::ulp));
    view.watch.push_back({task.terms, 0, 3, root(3), root(4)});
    auto out = next();
    ASSERT_TRUE(out.work);
    run(*out.work, 2, [&] { sit(11, 6, 1, 0); });
    EXPECT_EQ(steps, 2u) << "for a seat without any deadline";
    run(*next().work);
    out = next();
    EXPECT_EQ(committed(out), Audits{11});
    ASSERT_TRUE(out.work);
    run(*out.work);
    EXPECT_EQ(steps, 2 * kSegment);
    const auto moves = next().moves;
    ASSERT_EQ(moves.size(), 1u);
    const auto* challenge = std::get_if<ChallengeSegment>(&moves[0]);
    ASSERT_NE(challenge, nullptr);
    EXPECT_EQ(challenge->segment, 3u);
    EXPECT_TRUE(agent->take_problems().empty());
}

TEST_F(Urgency, WhatTheLedgerGaveFirstGoesFirstWhateverIsDueFirst) {
    begin();
    sit(10, 5, 1, 900);
    sit(11, 6, 2, 500);
    view.audits[0].due = 300;
    view.audits[1].due = 400;
    view.disputes.push_back(dispute_of(1, 3, 2'000));
    view.disputes[0].due = 350;
    view.initials.push_back({terms(6), 0, root(0), true, 360, 0});
    for (const char* name :
         {"replay task 5 segment 1", "move in dispute 1", "check initial state of task 6", "replay task 6 segment 2"}) {
        const auto out = next();
        ASSERT_TRUE(out.work);
        EXPECT_EQ(out.work->what, name);
        run(*out.work);
    }
}

TEST_F(Urgency, TheCheckOfAnInitialStateIsLeftBetweenTwoOpsForWhatComesFirstAndMadeAgain) {
    timeout = std::chrono::milliseconds(0);
    begin();
    Hash32 forged = root(0);
    forged.bytes[0] ^= 1;
    view.initials.push_back({terms(6), 0, forged, true, 360, 0});
    auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "check initial state of task 6");
    std::size_t asked = 0;
    in_initialiser = [&] {
        if (asked++ != 0) return;
        sit(10, 5, 1, 140);
        EXPECT_FALSE(next().work) << "one order at a time";
    };
    run(*out.work);
    EXPECT_EQ(asked, 1u) << "no further op was computed";
    EXPECT_TRUE(agent->take_problems().empty());
    in_initialiser = [] {};
    out = next();
    EXPECT_TRUE(out.moves.empty()) << "nothing was found yet";
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 5 segment 1");
    run(*out.work);
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "check initial state of task 6");
    run(*out.work);
    const auto moves = next().moves;
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<ChallengeInitial>(moves[0]));
}

TEST_F(Urgency, TheCheckOfAnInitialStateThatDoesNotTakeLongIsMadeToItsEnd) {
    begin();
    view.initials.push_back({terms(6), 0, root(0), true, 360, 0});
    std::size_t asked = 0;
    in_initialiser = [&] {
        if (asked++ == 0) sit(10, 5, 1, 140), (void)next();
    };
    run(*next().work);
    EXPECT_GT(asked, 1u);
    const auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 5 segment 1");
    run(*out.work);
    EXPECT_FALSE(next().work) << "it is checked";
}

/// Each was needed when its order was given, and becomes obsolete in the middle of it.
TEST_F(Urgency, WhatNoViewAsksForAnyMoreIsLeftBetweenTwoOps) {
    timeout = std::chrono::milliseconds(0);
    begin();
    const auto is_left_after = [&](std::size_t at, const char* name) {
        const auto out = next();
        ASSERT_TRUE(out.work) << name;
        EXPECT_EQ(out.work->what, name);
        const std::size_t before = steps;
        run(*out.work, at, [&] {
            const std::uint64_t height = view.height;
            view = {};
            view.height = height;
        });
        EXPECT_EQ(steps, before + at) << name;
    };
    sit(10, 5, 1, 140);
    is_left_after(3, "replay task 5 segment 1");
    view.watch.push_back({task.terms, 0, 3, root(3), root(4)});
    is_left_after(2, "watch 5 0 3");
    view.disputes.push_back(dispute_of(1, 2, 2'000));
    is_left_after(4, "move in dispute 1");
    view.initials.push_back({terms(6), 0, root(0), true, 360, 0});
    const auto out = next();
    ASSERT_TRUE(out.work);
    std::size_t asked = 0;
    in_initialiser = [&] {
        ++asked;
        view.initials.clear();
        (void)next();
    };
    run(*out.work);
    EXPECT_EQ(asked, 1u);
    EXPECT_FALSE(next().work);
    EXPECT_TRUE(agent->take_problems().empty());
}

/// Like a worker process that is waited for at an arbitrary point.
TEST_F(Urgency, WorkThatEndsBecauseSomethingWaitsIsPreemptedWithoutAProblem) {
    begin();
    sit(10, 5, 1, 5'000);
    before_step = [this] {
        EXPECT_NE(solver::Preemption::of_this_thread(), nullptr) << "what computes knows whom to ask";
        sit(11, 6, 2, 140);
        (void)next();
        EXPECT_TRUE(solver::Preemption::of_this_thread()->must_stop_since({}));
        throw solver::Preempted();
    };
    run(*next().work);
    EXPECT_EQ(solver::Preemption::of_this_thread(), nullptr);
    before_step = [] {};
    EXPECT_TRUE(agent->take_problems().empty());
    for (const char* name : {"replay task 6 segment 2", "replay task 5 segment 1"}) {
        const auto out = next();
        ASSERT_TRUE(out.work);
        EXPECT_EQ(out.work->what, name);
        run(*out.work);
    }
    EXPECT_EQ(committed(next()), Audits{10});
}

TEST_F(Urgency, WhatNobodyAskedForComesLast) {
    begin();
    view.initials.push_back({terms(6), 0, root(0), false});
    sit(10, 5, 1, 0);
    auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 5 segment 1");
    run(*out.work);
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "check initial state of task 6");
}

TEST_F(Urgency, ADisputeWithAnEarlierPlacePutsAReplayOff) {
    begin();
    sit(10, 6, 1, 140);
    view.audits[0].due = 130;
    run(*next().work, 3, [&] {
        view.disputes.push_back(dispute_of(1, 2, 900));
        view.disputes[0].due = 129;
    });
    EXPECT_EQ(steps, 3u);
    const auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "move in dispute 1");
}

TEST_F(Urgency, ADisputeWithALaterPlaceWaits) {
    begin();
    sit(10, 6, 1, 140);
    view.audits[0].due = 130;
    run(*next().work, 3, [&] {
        view.disputes.push_back(dispute_of(1, 2, 135));
        view.disputes[0].due = 131;
    });
    EXPECT_EQ(steps, kSegment);
}

TEST_F(Urgency, OfDisputesTheOneThatWasGivenFirstGoesFirst) {
    begin();
    view.disputes.push_back(dispute_of(1, 1, 800));
    view.disputes.push_back(dispute_of(2, 2, 900));
    view.disputes[0].due = 700;
    view.disputes[1].due = 600;
    const auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "move in dispute 2");
}

/// Whether the output contains a move in this dispute.
bool moves_at(const Verifier::Output& out, std::uint64_t dispute) {
    return std::any_of(out.moves.begin(), out.moves.end(), [&](const VerifierMove& move) {
        const auto* play = std::get_if<PlayMove>(&move);
        return play != nullptr && play->dispute == dispute;
    });
}

TEST_F(Urgency, AMoveInADisputeIsPreemptedBetweenTwoStepsAndGoesOnWhereItWas) {
    begin(solver::attacking_runners(solver::ComputeAttack::ulp));
    view.disputes.push_back(dispute_of(1, 3, 900));
    auto out = next();
    ASSERT_TRUE(out.work);
    run(*out.work, 2, [&] { sit(10, 6, 1, 140); });
    EXPECT_EQ(steps, 2u) << "the step that had begun is the last";
    EXPECT_TRUE(agent->take_problems().empty());
    out = next();
    EXPECT_FALSE(moves_at(out, 1));
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 6 segment 1");
    run(*out.work);
    out = next();
    EXPECT_EQ(committed(out), Audits{10});
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "move in dispute 1");
    run(*out.work, 3, [&] {  // Again, after the state half way that its search keeps.
        view.disputes.push_back(dispute_of(2, 2, 800));
    });
    EXPECT_EQ(steps, 5 + kSegment);
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "move in dispute 2");
    run(*out.work);
    const std::size_t before = steps;
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "move in dispute 1");
    run(*out.work);
    EXPECT_EQ(steps - before, kSegment - 5) << "no step of its segment was made twice";
    EXPECT_TRUE(moves_at(next(), 1));
}

TEST_F(Urgency, ALongStepOfAMoveIsLeftBetweenTwoOps) {
    timeout = std::chrono::milliseconds(0);
    begin(solver::attacking_runners(solver::ComputeAttack::ulp));
    view.disputes.push_back(dispute_of(1, 3, 900));
    run(*next().work, 5, [&] { sit(10, 6, 1, 140); });
    EXPECT_EQ(steps, 5u);
    auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 6 segment 1");
    run(*out.work);
    const std::size_t before = steps;
    out = next();
    ASSERT_TRUE(out.work);
    run(*out.work);
    EXPECT_EQ(steps - before, kSegment - 3) << "from the state half way, which its search keeps";
    EXPECT_TRUE(moves_at(next(), 1));
    EXPECT_TRUE(agent->take_problems().empty());
}

TEST_F(Urgency, AnAnswerForAKeptStateHasItsPlaceToo) {
    begin();
    sit(10, 5, 1, 140);
    view.reports.push_back({7, terms(6), 0, 2, 1, 0, 190, 139});
    view.reports.push_back({8, terms(6), 0, 3, 1, 0, 191, 141});
    for (const char* name : {"answer report 7", "replay task 5 segment 1", "answer report 8"}) {
        const auto out = next();
        ASSERT_TRUE(out.work);
        EXPECT_EQ(out.work->what, name);
        run(*out.work);
    }
}

}  // namespace
}  // namespace retrace::test
