// SPDX-License-Identifier: MIT
// What reports about the state that a successor starts from may move, and for how long.
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::SeatState;

class FirstStateReports : public HostileReports {
protected:
    /// The state 1 of a run is kept by two keepers; its solvers are about to miss their deadline, and a run of another
    /// task, `decoy`, can be challenged.
    void kept_state(std::uint64_t replicas) {
        auto slow = small_params();
        slow.checkpoint_blocks = 400;
        slow.challenge_blocks = 100;
        begin(slow);
        TaskSpec spec = small_spec();
        spec.replay_blocks = 1;
        spec.replicas = static_cast<std::uint8_t>(replicas);
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol", "dave", "v4"}) add_solver(name);
        advance(9);
        post(spec);
        auction(replicas == 1 ? std::map<std::string, std::uint64_t>{{"alice", 400}, {"bob", 700}}
                              : std::map<std::string, std::uint64_t>{{"alice", 400}, {"dave", 500}});
        ASSERT_EQ(run().solver, party("alice"));
        const auto both = [&](auto what) {
            what("alice", 0u);
            if (replicas == 2) what("dave", 1u);
        };
        both([&](const char* name, std::uint32_t) { ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok); });
        for (const std::uint64_t i : {0, 1})
            both([&](const char* name, std::uint32_t r) { ASSERT_EQ(checkpoint(name, i, r), CallStatus::ok); });
        keeping = false;
        ASSERT_TRUE(advance_until(
            [&] {
                both([&](const char* name, std::uint32_t r) { serve(name, r); });
                check_audits();
                return run().finalised == 1 && (replicas == 1 || run(1).finalised == 1);
            },
            300));
        const auto first = audit(segment(0).audit);
        for (const market::Seat& seat : first.seats)
            if (seat.state == SeatState::matched) keepers.push_back(name_of(seat.auditor));
        ASSERT_EQ(keepers.size(), 2u);
        for (const std::string& name : keepers) ASSERT_EQ(send(name, AttestRetention{1, 0, 1}), CallStatus::ok);
        if (replicas == 2) {
            const auto second = audit(segment(0, 1).audit);
            for (const market::Seat& seat : second.seats)
                if (seat.state == SeatState::matched) send(name_of(seat.auditor), AttestRetention{1, 1, 1});
        }
        while (height + 60 < run().deadline) next_block();
        decoy = assign(replicas == 1 ? "carol" : "v4", spec_of(20, 2, 95));
    }
    /// The same for one run whose replays take 30 blocks; bob has the task from there. Returns the keepers: the first
    /// will be silent.
    std::pair<std::string, std::string> kept_by_two() {
        auto slow = small_params();
        slow.checkpoint_blocks = 300;
        begin(slow);
        TaskSpec spec = small_spec();
        spec.replay_blocks = 30;
        start_run(spec);
        for (const std::uint64_t i : {0, 1}) EXPECT_EQ(checkpoint("alice", i), CallStatus::ok);
        EXPECT_TRUE(advance_until([&] {
            serve("alice");
            if (segment(0).state != market::SegmentState::verified) check_audits();
            return segment(0).state == market::SegmentState::verified && run().finalised == 1;
        }));
        const auto& seats = audit(1).seats;
        const std::pair<std::string, std::string> out{name_of(seats.at(0).auditor), name_of(seats.at(1).auditor)};
        EXPECT_EQ(send(out.first, AttestRetention{1, 0, 1}), CallStatus::ok);
        EXPECT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
        return out;
    }
    std::vector<std::string> keepers;
    std::uint64_t decoy = 0;
};

/// A successor that does not accept has a report about its first state answered in the next block. The deadline that
/// the answer leaves has a scheduled item of its own.
TEST_F(FirstStateReports, AnAnswerOneBlockLaterEndsTheWaitForAFirstState) {
    kept_state(1);
    const std::string bad = keepers[0], good = keepers[1];
    open_segments("carol", decoy, 3);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, 1u);
    ASSERT_EQ(challenge(bad, decoy, 1), CallStatus::ok) << last.revert_reason;
    while (height < run(1).deadline) next_block();
    ASSERT_EQ(say("bob", 5, 1, 0), CallStatus::ok) << last.revert_reason;
    const std::uint64_t due = report(1).deadline;
    next_block();  // The keeper sees the report and answers.
    answer(1, good);
    const std::uint64_t from = height, deadline = run(1).deadline;
    EXPECT_LE(deadline, from + 1);
    for (int i = 0; i < 900 && task().state == market::TaskState::assigned; ++i) {
        next_block();
        const auto d = dispute(1);
        if (d.state == market::DisputeState::open && d.mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("carol", 1), CallStatus::ok);
        }
        serve("carol", 0, decoy);
    }
    EXPECT_LE(height, deadline + 1) << "its deadline was " << deadline << ", the report was due " << due;
}

/// The limit of an acceptance moves by `unbond_blocks` / 4 once, however many reports are answered at once.
TEST_F(FirstStateReports, ReportsThatAreAnsweredAtOnceMoveTheLimitOfAnAcceptanceOnce) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 640;
    wanted.challenge_blocks = 500;
    wanted.unbond_blocks = 400;
    start(wanted, {"alice", "bob"});
    TaskSpec spec = small_spec();
    spec.replay_blocks = 1;
    spec.finish_blocks = 9'000;
    const std::uint64_t id = assign("alice", spec);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    keeping = false;
    ASSERT_TRUE(advance_until(
        [&] {
            serve("alice", 0, id);
            check_audits();
            return segment(0, 0, id).state == market::SegmentState::verified;
        },
        100));
    std::string keeper;
    for (const market::Seat& seat : audit(segment(0, 0, id).audit).seats)
        if (seat.state == SeatState::matched) keeper = name_of(seat.auditor);
    ASSERT_EQ(send(keeper, AttestRetention{id, 0, 1}), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return run(0, id).finalised == 1; }, 1'400));
    while (height + 60 < run(0, id).deadline) next_block();
    TaskSpec own = spec_of(20, 1, 17);
    own.checkpoint_blocks = 6'000;
    own.finish_blocks = 9'000;
    const std::uint64_t busy = assign("bob", own);
    open_segments("bob", busy, 8);
    ASSERT_TRUE(advance_until([&] { return serve("bob", 0, busy), run(0, id).state == RunState::forfeited; }, 600));
    auction({{"bob", 400}}, id);
    ASSERT_EQ(task(id).state, market::TaskState::assigned);
    ASSERT_EQ(run(1, id).first_state, 1u);
    const std::uint64_t from = height;
    std::uint64_t tile = 0, bonds = 0;
    std::set<std::uint64_t> open;
    for (int i = 0; i < 3'000 && task(id).state == market::TaskState::assigned; ++i) {
        if (height + 1 >= moved_deadline(state, params, run(1, id))) {
            if (tile < params.reports) {
                ASSERT_EQ(say("bob", 5, 1, tile++, id), CallStatus::ok) << last.revert_reason;
                answer(views::report_count(state), keeper);  // at once, in the block of the report
            }
            for (std::uint64_t s = 1; s < 8; ++s)  // Accomplices challenge bob's other run, and lose a bond each.
                if (views::segment(state, busy, 0, s)->window_end != 0 &&
                    challenge(accomplice(static_cast<int>(bonds)), busy, s) == CallStatus::ok)
                    open.insert(views::dispute_count(state)), ++bonds;
        }
        for (const std::uint64_t d : open)
            if (dispute(d).state == market::DisputeState::open &&
                dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
                ASSERT_EQ(post_hashes("bob", d), CallStatus::ok);
            }
        next_block();
        serve("bob", 0, busy);
    }
    EXPECT_LE(height, from + params.accept_blocks + params.unbond_blocks / 4 + params.reports + 1)
        << bonds << " challenges, " << tile << " reports, " << height - from << " blocks; run is "
        << static_cast<int>(run(0, busy).state);
}

/// Two successors of one owner report the same state: an answer ends the wait of the successor that reported, and of
/// no other.
TEST_F(FirstStateReports, AnAnswerEndsTheWaitOfItsReporterThoughAnotherWaits) {
    kept_state(2);
    const std::string bad = keepers[0], good = keepers[1];
    open_segments("v4", decoy, 3);
    ASSERT_TRUE(advance_until([&] { return task().state == market::TaskState::bidding; }, 900));
    auction({{"bob", 500}, {"carol", 550}});
    ASSERT_EQ(task().active.size(), 2u);
    std::uint32_t mine = task().active[0];
    if (run(mine).solver != party("bob")) mine = task().active[1];
    ASSERT_EQ(run(mine).first_state, 1u);
    ASSERT_EQ(challenge(bad, decoy, 1), CallStatus::ok) << last.revert_reason;
    while (height < run(mine).deadline) next_block();
    ASSERT_EQ(say("bob", 5, 1, 0), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(say("carol", 5, 1, 0), CallStatus::ok) << last.revert_reason;
    for (const std::uint64_t r : {1, 2}) answer(r, good);
    const std::uint64_t answered = height;
    EXPECT_LE(run(mine).deadline, answered + 1);
    ASSERT_TRUE(advance_until([&] { return run(mine).state != RunState::assigned; }, 600));
    EXPECT_LE(height, answered + 2) << "both answers came in the block of the reports";
}

/// An auditor attests, to be paid, in the last block of a report that did not ask it. The keeper that was asked is
/// silent and loses its bond; the auditor loses nothing.
TEST_F(FirstStateReports, AKeeperThatAttestsLateIsNotPunishedForAReportThatItWasNotAskedBy) {
    const auto [bad, good] = kept_by_two();
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, 1u);
    while (busy_until(state, party(good), height) > height) next_block();
    ASSERT_EQ(say("bob", 5, 1, 0), CallStatus::ok) << last.revert_reason;
    while (height < report(1).deadline) next_block();
    const U256 before = views::stake(state, party(good)).bonded;
    ASSERT_EQ(send(good, AttestRetention{1, 0, 1}), CallStatus::ok);
    advance(3);
    ASSERT_EQ(report(1).state, market::ReportState::failed);
    EXPECT_EQ(views::stake(state, party(good)).bonded, before) << "a state takes 30 blocks to load and hash";
    EXPECT_EQ(views::checkpoint(state, 1, 0, 1)->keepers, std::vector<Address>{party(good)}) << "bad keeps it no more";
    ASSERT_EQ(say("bob", 5, 1, 0), CallStatus::ok) << "good is asked now: " << last.revert_reason;
    while (height <= report(2).deadline) next_block();
    EXPECT_EQ(before - views::stake(state, party(good)).bonded, params.audit_bond);
}

/// A successor's checkpoint deadline and its finishing height move by the wait for its first state: the keepers take
/// nothing of the time that it bid for its work.
TEST_F(FirstStateReports, TheFinishingHeightMovesByTheWaitForAFirstState) {
    const std::string keeper = kept_by_two().first;
    constexpr std::uint64_t kWork = 60;  // three segments of 15 blocks, and a quarter on top
    const std::uint64_t finish = task().reveal_end + kWork;
    const Hash32 bid = market::bid_commitment(1, task().round, 500, finish, word("bob"), party("bob"));
    ASSERT_EQ(send("bob", CommitBid{1, bid}, params.bid_deposit), CallStatus::ok);
    while (height < task().bid_end) next_block();
    ASSERT_EQ(send("bob", RevealBid{1, 500, finish, word("bob")}), CallStatus::ok);
    const std::uint64_t close = task().reveal_end;
    while (height < close) next_block();
    ASSERT_EQ(run(1).solver, party("bob"));
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    ASSERT_EQ(say("bob", 5, 1, 0), CallStatus::ok)
        << last.revert_reason;  // a tile of its first state is gone (16.1.15)
    while (height < report(1).deadline) next_block();
    answer(1, keeper);  // in the last block
    const std::uint64_t from = height;
    const U256 stake = views::stake(state, party("bob")).bonded;
    for (std::uint64_t i = 1; i <= 4 && run(1).state == RunState::running; ++i) {
        for (int b = 0; i > 1 && b < 15; ++b) next_block(), serve("bob", 1), check_audits();
        if (run(1).state == RunState::running) {
            ASSERT_EQ(checkpoint("bob", i, 1), CallStatus::ok);
        }
    }
    EXPECT_EQ(run(1).state, RunState::running) << "bob has worked for " << height - from << " of " << kWork;
    EXPECT_EQ(views::stake(state, party("bob")).bonded, stake);
}

}  // namespace
}  // namespace retrace::contracts
