// SPDX-License-Identifier: MIT
// Calls that are still accepted when scheduled items come late (SPEC 9.2): an expired deadline stays expired.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class LateScheduler : public MarketTest {
protected:
    /// Passes blocks in which no item is handled, as if a backlog were waiting before the items of these heights.
    void pass_unhandled(std::uint64_t blocks) { height += blocks; }
};

TEST_F(LateScheduler, AChallengerWhoseClockIsOverReportsNothing) {
    start_run();
    for (const std::uint64_t i : {0, 1, 2}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).window_end != 0;
    }));
    ASSERT_EQ(send("bob", ChallengeSegment{1, 0, 0, word("mine")}, params.challenge_bond), CallStatus::ok);
    verifier::PostHashes post;
    post.hashes.resize(verifier::search_positions(views::game(state, 1)->search).size());
    ASSERT_EQ(send("alice", PlayMove{1, verifier::encode(verifier::Move{post})}), CallStatus::ok) << last.revert_reason;
    const std::uint64_t deadline = views::dispute(state, 1)->deadline;
    const ReportUnavailable report{1, 1, 0, 0, 0, 0};
    pass_unhandled(deadline - height);
    ASSERT_EQ(send("bob", report, params.report_fee), CallStatus::ok) << "in the last block";
    const std::uint64_t moved = views::dispute(state, 1)->deadline;
    EXPECT_EQ(moved, deadline + params.answer_blocks);
    pass_unhandled(moved + 1 - height);
    EXPECT_EQ(send("bob", report, params.report_fee), CallStatus::too_late);
    pass_unhandled(params.answer_blocks + 5);
    EXPECT_EQ(send("bob", report, params.report_fee), CallStatus::too_late) << "nor long after";
}

TEST_F(LateScheduler, ASuccessorWhoseDeadlineIsOverReportsNothing) {
    start_run();
    wrong_from = 4;
    play("alice");
    const std::uint64_t first = task().first_state;
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, first);
    const ReportUnavailable report{5, 1, 0, first, 0, 0};
    pass_unhandled(run(1).deadline - height);
    ASSERT_EQ(send("bob", report, params.report_fee), CallStatus::ok) << last.revert_reason;
    pass_unhandled(run(1).deadline + 1 - height);
    EXPECT_EQ(send("bob", report, params.report_fee), CallStatus::too_late);
    pass_unhandled(params.answer_blocks + 5);
    EXPECT_EQ(send("bob", report, params.report_fee), CallStatus::too_late);
}

}  // namespace
}  // namespace retrace::contracts
