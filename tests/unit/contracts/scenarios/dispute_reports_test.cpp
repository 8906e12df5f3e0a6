// SPDX-License-Identifier: MIT
// What the reports of a challenger may move in its dispute, and for how long.
#include "contracts/lifecycle/disputes/cases.hpp"
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;

using DisputeReports = HostileReports;

/// Reports that are answered at once leave a challenger's clock as it was, so one bond holds a run for no longer than
/// `unbond_blocks`, which are twice the longest case of a task (12.1.15, 18.5).
TEST_F(DisputeReports, ReportsThatAreAnsweredAtOnceDoNotStretchADispute) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    wanted.unbond_blocks = 140;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 20));  // 2 * (46 + 20) < 140
    open_segments("alice", id, 3);
    const std::string v = accomplice(0);
    ASSERT_EQ(challenge(v, id, 1), CallStatus::ok) << last.revert_reason;
    const std::uint64_t d = views::dispute_count(state), from = height;
    std::uint64_t said = 0;
    for (int i = 0; i < 4'000 && dispute(d).state == market::DisputeState::open; ++i) {
        if (dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("alice", d), CallStatus::ok);  // at once
        } else if (height == dispute(d).deadline && said < params.reports) {
            ASSERT_EQ(say(v, 1, 1, said++, id), CallStatus::ok) << last.revert_reason;
            answer(views::report_count(state), "alice");  // at once
        }
        next_block();
        serve("alice", 0, id);
        if (run(0, id).state != RunState::running) break;
    }
    EXPECT_LE(height, from + params.unbond_blocks) << said << " reports; run " << static_cast<int>(run(0, id).state)
                                                   << " dispute " << static_cast<int>(dispute(d).state);
}

/// The same over a whole dispute with the clocks of a long replay (16.4).
TEST_F(DisputeReports, AReportThatIsAnsweredAtOnceHoldsNoDispute) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.unbond_blocks = 4'000;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 50));
    open_segments("alice", id, 3);
    ASSERT_EQ(challenge(accomplice(0), id, 1), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok);
    ASSERT_EQ(dispute(1).mover, static_cast<std::uint8_t>(verifier::Side::challenger));
    const std::uint64_t from = height, before = dispute(1).deadline - from;
    const auto pass = [&] {
        next_block(), serve("alice");
        if (run().state == RunState::running && run().next_state <= 20 && height + 1 >= run().deadline) {
            ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
        }
    };
    for (std::uint64_t tile = 0; tile < params.reports && dispute(1).state == market::DisputeState::open; ++tile) {
        while (height < dispute(1).waits_until) pass();
        ASSERT_EQ(say(accomplice(0), 1, 1, tile), CallStatus::ok) << last.revert_reason;
        answer(views::report_count(state), "alice");
        pass();
    }
    while (dispute(1).state == market::DisputeState::open) pass();
    EXPECT_EQ(dispute(1).state, market::DisputeState::challenger_lost);
    EXPECT_LE(height - from, before + 3 * params.reports) << before << " without reports";
}

/// The blocks that a challenger waited stay on its clock, and no more (16.4.1).
TEST_F(DisputeReports, AChallengersClockKeepsTheBlocksThatItWaited) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 20));
    open_segments("alice", id, 3);
    const std::string v = accomplice(0);
    ASSERT_EQ(challenge(v, id, 1), CallStatus::ok) << last.revert_reason;
    const std::uint64_t d = views::dispute_count(state);
    ASSERT_EQ(post_hashes("alice", d), CallStatus::ok);
    ASSERT_EQ(dispute(d).mover, static_cast<std::uint8_t>(verifier::Side::challenger));
    const std::uint64_t deadline = dispute(d).deadline, clock = dispute(d).challenger_clock;
    for (const std::uint64_t tile : {0, 1}) ASSERT_EQ(say(v, 1, 1, tile), CallStatus::ok) << last.revert_reason;
    const std::uint64_t waits_until = dispute(d).waits_until;
    for (int i = 0; i < 7; ++i) next_block();
    ASSERT_GT(waits_until, height + 1);
    answer(1, "alice");
    EXPECT_EQ(dispute(d).waits_until, waits_until) << "the other tile is still waited for";
    next_block();
    answer(2, "alice");
    EXPECT_EQ(dispute(d).deadline, deadline + 8);
    EXPECT_EQ(dispute(d).challenger_clock, clock + 8);
    while (height < deadline + 8) next_block();
    EXPECT_EQ(dispute(d).state, market::DisputeState::open);
    next_block();
    EXPECT_EQ(dispute(d).state, market::DisputeState::challenger_lost);
}

/// Each case of a challenger has reports of its own (19).
TEST_F(DisputeReports, ReportsAboutOneDisputeTakeNothingOfAnother) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 10));
    open_segments("alice", id, 3);
    const std::string v = accomplice(0);
    for (const std::uint64_t i : {1, 2}) ASSERT_EQ(challenge(v, id, i), CallStatus::ok) << last.revert_reason;
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) {
        ASSERT_EQ(say(v, 3, 0, tile, id), CallStatus::ok) << last.revert_reason;  // tiles of the batch of segment 1
        answer(views::report_count(state), "alice");
    }
    EXPECT_EQ(say(v, 1, 2, 0, id), CallStatus::ok) << last.revert_reason << ": no tile of state 2 was reported yet";
}

}  // namespace
}  // namespace retrace::contracts
