// SPDX-License-Identifier: MIT
// The reads of a call do not grow with the number of records open elsewhere. Gas follows from the bytes of a call alone
// (SPEC 4.4), so otherwise a party with many disputes could make every call, even a refused one, cost the nodes more
// than it pays.
#include "contracts/lifecycle/disputes/cases.hpp"
#include "tests/unit/contracts/counted_reads.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class BoundedReads : public MarketTest {
protected:
    /// Fills every list of a party's open disputes with `count` disputes about another task.
    void open_elsewhere(std::string_view name, std::size_t count) {
        std::vector<std::uint64_t> ids(count);
        for (std::size_t i = 0; i < count; ++i) {
            market::Dispute other;
            other.id = ids[i] = 1'000'000 + i;
            other.kind = market::DisputeKind::audit;
            other.state = market::DisputeState::open;
            other.task = 1'000'000;
            other.challenger = party(name);
            store(state, keys::dispute(other.id), other);
        }
        store_list(state, keys::open_disputes(party(name)), ids);
    }
    /// Returns how many records the executor reads for a call; the state is not changed.
    template <class Call>
    std::size_t reads_of(std::string_view sender, const Call& call, const U256& value) {
        const CountedReads counted(state);
        ledger::State next{static_cast<const ledger::StateView&>(counted)};
        const Bytes data = calldata(call);
        last = executor.call(next, block(), {party(sender), address_of(Call::kContract), value, data, 10'000'000});
        return counted.reads;
    }
    template <class Call>
    void expect_the_same_reads(std::string_view sender, const Call& call, const U256& value, std::string_view busy) {
        const std::size_t alone = reads_of(sender, call, value);
        const std::string said = last.revert_reason;
        open_elsewhere(busy, 2048);
        EXPECT_LE(reads_of(sender, call, value), alone + 8) << "2048 disputes of " << busy;
        EXPECT_EQ(last.revert_reason, said);
    }
    /// Opens both ends of alice's first segment.
    void open_segment() {
        start_run();
        for (const std::uint64_t i : {0, 1, 2}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] {
            serve("alice");
            check_audits();
            return segment(0).window_end != 0;
        }));
    }
};

TEST_F(BoundedReads, ARefusedReportDoesNotReadTheDisputesOfItsSender) {
    open_segment();
    expect_the_same_reads("bob", ReportUnavailable{1, 1, 0, 0, 0, 0}, params.report_fee, "bob");
    EXPECT_FALSE(last.ok);
}

TEST_F(BoundedReads, AnAuditorsReportDoesNotReadWhatOthersReported) {
    start_run();
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    seat_auditors("alice");
    const std::string auditor = name_of(views::audit(state, 1)->seats.at(0).auditor);
    const ReportUnavailable call{1, 1, 0, 0, 0, 0};
    const std::size_t alone = reads_of(auditor, call, params.report_fee);
    ASSERT_TRUE(last.ok) << last.revert_reason;
    std::vector<std::uint64_t> ids(1'000);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        market::Report other;
        other.id = ids[i] = 1'000'000 + i;
        other.kind = market::ReportKind::model;
        other.state = market::ReportState::open;
        other.task = 1;
        store(state, keys::report(other.id), other);
    }
    store_list(state, keys::open_reports(1), ids);
    EXPECT_LE(reads_of(auditor, call, params.report_fee), alone + 8);
    EXPECT_TRUE(last.ok) << last.revert_reason;
}

TEST_F(BoundedReads, ARefusedChallengeDoesNotReadTheDisputesOfItsSender) {
    open_segment();
    ASSERT_EQ(send("bob", ChallengeSegment{1, 0, 0, word("mine")}, params.challenge_bond), CallStatus::ok);
    // A second challenge of this kind about this segment is refused, however many others are open.
    const std::size_t alone = reads_of("bob", ChallengeSegment{1, 0, 0, word("other")}, params.challenge_bond);
    EXPECT_FALSE(last.ok);
    open_elsewhere("bob", 2048);
    EXPECT_LE(reads_of("bob", ChallengeSegment{1, 0, 0, word("other")}, params.challenge_bond), alone + 8);
    EXPECT_FALSE(last.ok);
}

TEST_F(BoundedReads, ABlockDoesNotReadTheDisputesOfASolverThatIsPaid) {
    open_segment();
    ASSERT_TRUE(advance_until([&] { return height + 1 == segment(0).window_end; }));
    const auto reads_of_next_block = [&] {
        const CountedReads counted(state);
        ledger::State next{static_cast<const ledger::StateView&>(counted)};
        auto after = block();
        ++after.height;
        (void)executor.begin_block(next, after);
        return counted.reads;
    };
    const std::size_t alone = reads_of_next_block();
    open_elsewhere("alice", 2048);
    EXPECT_LE(reads_of_next_block(), alone + 8);
}

TEST_F(BoundedReads, AnOpeningDoesNotReadTheDisputesOfReplicasAboutOtherTasks) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (const char* name : {"alice", "bob"}) add_solver(name);
    advance(9);
    TaskSpec spec = small_spec();
    spec.replicas = 2;
    std::swap(spec.init_root, spec.initial_state_root);
    post(spec);
    auction({{"alice", 400}, {"bob", 500}});
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    wrong_from = 0;  // bob's first state differs, which his opening shows
    wrong_run = 1;
    for (const std::uint64_t i : {0, 1, 2}) {
        ASSERT_EQ(checkpoint("alice", i, 0), CallStatus::ok);
        ASSERT_EQ(checkpoint("bob", i, 1), CallStatus::ok);
    }
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0);
        for (const std::uint64_t id : open_audit_ids(1, 1))
            if (views::audit(state, id)->phase == market::AuditPhase::opening) return true;
        return false;
    }));
    expect_the_same_reads("bob", OpenSegment{1, 1, 0, salt(1, 0), solver_root(0, 1)}, 0, "bob");
    EXPECT_TRUE(last.ok) << last.revert_reason;
}

}  // namespace
}  // namespace retrace::contracts
