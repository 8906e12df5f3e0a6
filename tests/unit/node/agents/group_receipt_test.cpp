// SPDX-License-Identifier: MIT
// A receipt of a group: the member that delivered, the segments of all members, and messages of convicted ones.
#include "node/agents/group_receipt.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "node/agents/receipt_check.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using ledger::Address;
using market::RunState;
using market::SegmentState;
using testing::HasSubstr;

class EmptyLedger final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

/// Three members and two rounds. Run 0 was convicted of its segment 1 (its message of round 1), run 2 left after round
/// 0; run 1 delivered. Round 0 has all messages, round 1 those of runs 0 and 1.
struct GroupReceipt : testing::Test {
    GroupReceipt() {
        spec.program_root = spec.init_root = Hash32{{1}};
        spec.steps = 3;
        spec.interval = 1;
        task.id = 1;
        task.requester = Address{{3}};
        task.state = market::TaskState::settled;
        task.runs = 3;
        terms.rounds = 2;
        terms.steps_max = 10;
        group.task = 1;
        group.phase = market::GroupPhase::over;
        group.round = 2;
        contracts::store(state, keys::spec(1), spec);
        contracts::store(state, keys::task(1), task);
        contracts::store(state, keys::group_spec(1), terms);
        contracts::store(state, keys::group(1), group);
        contracts::store(state, keys::round(1, 0),
                         market::Round{0, 5, 3, {{0, 10, 0, 10}, {1, 10, 0, 10}, {2, 5, 0, 5}}, 25, {}});
        contracts::store(state, keys::round(1, 1), market::Round{1, 9, 2, {{0, 7, 0, 7}, {1, 10, 0, 10}}, 17, {}});
        add(0, RunState::forfeited, 1, 3, 1);
        add(1, RunState::settled, 3, 4, 2);
        add(2, RunState::left, 1, 2, 0);
        for (const auto& [round, run] : {std::pair{0u, 0u}, {0u, 1u}, {0u, 2u}, {1u, 0u}, {1u, 1u}})
            contracts::store(state, keys::round_message(1, round, run), market::RoundMessage{round, 10, {}, true});
        contracts::store(state, keys::convictions(1), contracts::ListOf<contracts::ConvictedSegment>{{{0, 1}}});
        for (const std::uint32_t run : {0u, 1u, 2u}) audited(run, 0, SegmentState::verified, 1);
        audited(1, 1, SegmentState::unaudited, 0);
        audited(1, 2, SegmentState::verified, 1);
        for (std::uint64_t index = 0; index < 3; ++index)
            contracts::store(state, keys::member_segment(1, 1, index),
                             market::MemberSegment{0, static_cast<std::uint32_t>(index), 10, UINT64_MAX, 11, {}});
        for (const std::uint32_t run : {0u, 2u})
            contracts::store(state, keys::member_segment(1, run, 0),
                             market::MemberSegment{0, 0, 10, UINT64_MAX, 11, {}});
        market::Audit audit;
        audit.id = 1;
        audit.phase = market::AuditPhase::closed;
        audit.seats.push_back({});
        audit.seats[0].auditor = auditor;
        audit.seats[0].state = market::SeatState::matched;
        contracts::store(state, keys::audit(1), audit);
        receipt.task = 1;
        receipt.requester = ledger::to_0x(task.requester);
        receipt.solver = ledger::to_0x(solver(1));
        receipt.program = spec.program_root;
        receipt.init = spec.init_root;
        receipt.steps = spec.steps;
        receipt.interval = spec.interval;
        for (const std::uint64_t index : {2, 3}) {
            market::Checkpoint point;
            point.opened = true;
            point.open_height = 100 + index;
            point.root = Hash32{{static_cast<std::uint8_t>(index)}};
            contracts::store(state, keys::checkpoint(1, 1, index), point);
            receipt.states.push_back({index, point.open_height, point.root});
        }
        for (const std::uint64_t index : {0, 2}) receipt.audits.push_back({index, 1, {ledger::to_0x(auditor)}});
    }
    static Address solver(std::uint32_t run) { return Address{{static_cast<std::uint8_t>(run + 10)}}; }
    void add(std::uint32_t index, RunState now, std::uint64_t finalised, std::uint64_t next, std::uint32_t base) {
        market::Run run;
        run.task = 1;
        run.index = index;
        run.solver = solver(index);
        run.state = now;
        run.finalised = run.paid = finalised;
        run.next_state = next;
        contracts::store(state, keys::run(1, index), run);
        market::Member member;
        member.base = base;
        contracts::store(state, keys::member(1, index), member);
    }
    void audited(std::uint32_t run, std::uint64_t index, SegmentState now, std::uint64_t audit) {
        market::Segment segment;
        segment.state = now;
        segment.audit = audit;
        contracts::store(state, keys::segment(1, run, index), segment);
    }
    /// Returns the error in the receipt; empty if there is none.
    std::string fault() {
        const auto checked = check_receipt(receipt, state);
        if (!checked) return checked.error().message;
        const auto required = require_audits(*checked, receipt, state);
        return required ? "" : required.error().message;
    }

    EmptyLedger nothing;
    ledger::State state{nothing};
    const Address auditor{{7}};
    market::TaskSpec spec;
    market::Task task;
    market::GroupSpec terms;
    market::Group group;
    Receipt receipt;
};

TEST_F(GroupReceipt, CountsTheSegmentsOfAllMembers) {
    EXPECT_EQ(fault(), "");
    const auto checked = check_receipt(receipt, state);
    ASSERT_TRUE(checked && checked->group);
    EXPECT_EQ(checked->states, 2u);
    EXPECT_EQ(checked->verified, 4u) << "of runs 0 and 2 one each, of run 1 two";
    EXPECT_EQ(checked->not_drawn, 1u);
    EXPECT_EQ(checked->unaudited, 0u);
    EXPECT_EQ(checked->auditors, 2u) << "of the member that delivered";
    EXPECT_EQ(checked->group->recorded(), 5u);
    EXPECT_EQ(checked->group->members.at(0).recorded, 2u);
    EXPECT_EQ(checked->group->empty_rounds, 0u);
}

/// The same group on private data: run 1 trains in its segments 0 and 2 and takes in a record in segment 1.
struct PrivateReceipt : GroupReceipt {
    PrivateReceipt() {
        terms.private_sets = 1;
        contracts::store(state, keys::group_spec(1), terms);
        for (const std::uint64_t index : {0, 1, 2})
            contracts::store(
                state, keys::member_segment(1, 1, index),
                market::MemberSegment{
                    0, static_cast<std::uint32_t>((index + 1) / 2), index == 1 ? 0u : 10u, UINT64_MAX, 11, {}});
        audited(1, 1, SegmentState::verified, 1);
        audited(1, 2, SegmentState::unaudited, 0);
        receipt.audits = {{1, 1, {ledger::to_0x(auditor)}}};
    }
};

TEST_F(PrivateReceipt, CountsApartWhatOnlyTheMembersChoiceHasChecked) {
    EXPECT_EQ(fault(), "");
    const auto checked = check_receipt(receipt, state);
    ASSERT_TRUE(checked && checked->group);
    EXPECT_EQ(checked->verified, 1u) << "the record of run 1";
    EXPECT_EQ(checked->auditors, 1u) << "verdicts by consent are none";
    const MemberSegments& delivered = checked->group->members.at(1);
    EXPECT_EQ(delivered.verified, 1u);
    EXPECT_EQ(delivered.consented, 1u) << "segment 0";
    EXPECT_EQ(delivered.unverified, 1u) << "segment 2";
    EXPECT_FALSE(delivered.missed.has_value());
    EXPECT_THAT(private_part(*checked->group), HasSubstr("unverified"));
    EXPECT_EQ(private_part(GroupFacts{}), "");
}

TEST_F(PrivateReceipt, NamesNoAuditorByConsent) {
    receipt.audits.insert(receipt.audits.begin(), {0, 1, {ledger::to_0x(auditor)}});
    EXPECT_THAT(fault(), HasSubstr("trains on data of its member's own"));
}

TEST_F(PrivateReceipt, TheFirstRecordsAreAlwaysAudited) {
    audited(1, 1, SegmentState::unaudited, 0);
    receipt.audits.clear();
    EXPECT_THAT(fault(), HasSubstr("nobody audited segment 1 of run 1"));
}

TEST_F(GroupReceipt, LeavesOutWhatARollbackHasUndone) {
    contracts::store(state, keys::rollbacks(1), market::Rollbacks{{{0, 1, 1, false}}, 1, 5});
    const auto facts = group_facts(state, 1);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->rollbacks.size(), 1u);
    EXPECT_TRUE(facts->unanswered.empty()) << "the convicted member's message is in the model no more";
    EXPECT_EQ(facts->recorded(), 4u);
    EXPECT_EQ(facts->verified(), 3u) << "the last segment of run 1 took that message in";
}

TEST_F(GroupReceipt, NamesTheMessagesOfAConvictedMember) {
    const auto facts = group_facts(state, 1);
    ASSERT_TRUE(facts);
    ASSERT_EQ(facts->unanswered.size(), 1u) << "the message of its first segment was found right";
    EXPECT_EQ(facts->unanswered[0].run, 0u);
    EXPECT_EQ(facts->unanswered[0].round, 1u);
    EXPECT_EQ(facts->unanswered[0].steps, 7u);
    EXPECT_EQ(facts->unanswered[0].weight, 7u);
    EXPECT_EQ(facts->unanswered[0].total, 17u);
    EXPECT_TRUE(facts->unanswered[0].convicted);
    contracts::remove(state, keys::convictions(1));
    EXPECT_FALSE(group_facts(state, 1)->unanswered.at(0).convicted) << "it missed a deadline";
}

TEST_F(GroupReceipt, MissesAnAuditOfAnyMember) {
    audited(2, 0, SegmentState::unaudited, 0);
    EXPECT_THAT(fault(), HasSubstr("segment 0 of run 2")) << "the first segment of a member is always audited";
    audited(2, 0, SegmentState::verified, 1);
    audited(1, 1, SegmentState::unaudited, 1);
    EXPECT_THAT(fault(), HasSubstr("segment 1 of run 1")) << "it was drawn";
    audited(1, 1, SegmentState::unaudited, 0);
    audited(1, 2, SegmentState::unaudited, 0);
    EXPECT_THAT(fault(), HasSubstr("audit of segment 2 is not the ledger's"));
    receipt.audits.pop_back();
    EXPECT_THAT(fault(), HasSubstr("segment 2 of run 1")) << "it takes in the last records";
}

TEST_F(GroupReceipt, IsThatOfAMemberThatDelivered) {
    receipt.solver = ledger::to_0x(solver(0));
    EXPECT_THAT(fault(), HasSubstr("solver")) << "it was convicted";
    receipt.solver = ledger::to_0x(solver(2));
    EXPECT_THAT(fault(), HasSubstr("solver")) << "it left";
    receipt.solver = ledger::to_0x(solver(1));
    receipt.audits.pop_back();
    EXPECT_THAT(fault(), HasSubstr("lacks the audit of segment 2"));
    receipt.states.pop_back();
    EXPECT_THAT(fault(), HasSubstr("lacks the last state"));
}

TEST_F(GroupReceipt, NeedsAllRecords) {
    contracts::remove(state, keys::round(1, 1));
    EXPECT_THAT(fault(), HasSubstr("incomplete"));
    EXPECT_FALSE(group_facts(state, 2)) << "no such group";
}

}  // namespace
}  // namespace retrace::node
