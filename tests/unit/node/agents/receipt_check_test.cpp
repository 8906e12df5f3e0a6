// SPDX-License-Identifier: MIT
// A receipt names the runs of a model and their auditors; the ledger shows whether this is complete.
#include "node/agents/receipt_check.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using ledger::Address;
using market::SegmentState;
using testing::HasSubstr;

class Nothing final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

constexpr std::uint64_t kSegments = 6, kSuccession = 3;

/// A task of six segments. Run 0 was convicted of its fourth segment, after the first three were paid; run 1 continued
/// from there and delivered.
struct DeliveredTask {
    Nothing nothing;
    ledger::State state{nothing};
    const Address cheat{{1}}, honest{{2}}, auditor{{7}};
    market::TaskSpec spec;
    market::Task task;
    Receipt receipt;

    DeliveredTask() {
        spec.program_root = spec.init_root = Hash32{{1}};
        spec.steps = kSegments;
        spec.interval = 1;
        task.id = 1;
        task.requester = Address{{3}};
        task.state = market::TaskState::settled;
        task.runs = 2;
        contracts::store(state, keys::spec(1), spec);
        contracts::store(state, keys::task(1), task);
        add_run(0, cheat, market::RunState::forfeited, 0, kSuccession);
        add_run(1, honest, market::RunState::settled, kSuccession, kSegments);
        for (std::uint64_t index = 0; index <= kSuccession; ++index) open(0, index, root_of(index));
        open(0, 4, Hash32{{99}});
        for (std::uint64_t index = kSuccession; index <= kSegments; ++index) open(1, index, root_of(index));
        for (const std::uint64_t index : {0, 2}) verify(0, index);
        verify(0, 3);  // An accomplice has found nothing wrong.
        not_drawn(0, 1);
        for (const std::uint64_t index : {3, 5}) verify(1, index);
        not_drawn(1, 4);
        make_receipt();
    }
    static Hash32 root_of(std::uint64_t index) { return Hash32{{static_cast<std::uint8_t>(10 + index)}}; }
    void add_run(std::uint32_t index, const Address& solver, market::RunState run_state, std::uint64_t first,
                 std::uint64_t clear) {
        market::Run run;
        run.task = 1;
        run.index = index;
        run.solver = solver;
        run.state = run_state;
        run.first_state = first;
        run.first_root = first == 0 ? Hash32{} : root_of(first);
        run.finalised = run.paid = clear;
        contracts::store(state, keys::run(1, index), run);
    }
    void open(std::uint32_t run, std::uint64_t index, const Hash32& root) {
        market::Checkpoint point;
        point.opened = true;
        point.open_height = 100 * (run + 1) + index;
        point.root = root;
        contracts::store(state, keys::checkpoint(1, run, index), point);
    }
    void verify(std::uint32_t run, std::uint64_t index, market::SeatState seat = market::SeatState::matched) {
        market::Audit audit;
        audit.id = contracts::next_id(state, keys::audit_count());
        audit.phase = market::AuditPhase::closed;
        audit.seats.push_back({});
        audit.seats[0].auditor = auditor;
        audit.seats[0].state = seat;
        contracts::store(state, keys::audit(audit.id), audit);
        market::Segment segment;
        const bool matched = seat == market::SeatState::matched;
        segment.state = matched ? SegmentState::verified : SegmentState::unaudited;
        segment.audit = audit.id;
        contracts::store(state, keys::segment(1, run, index), segment);
    }
    void not_drawn(std::uint32_t run, std::uint64_t index) {
        market::Segment segment;
        segment.state = SegmentState::unaudited;
        contracts::store(state, keys::segment(1, run, index), segment);
    }
    void make_receipt() {
        receipt.task = 1;
        receipt.requester = ledger::to_0x(task.requester);
        receipt.solver = ledger::to_0x(honest);
        receipt.program = spec.program_root;
        receipt.init = spec.init_root;
        receipt.steps = spec.steps;
        receipt.interval = spec.interval;
        for (std::uint64_t index = 0; index <= kSegments; ++index)
            receipt.states.push_back({index, (index < kSuccession ? 100 : 200) + index, root_of(index)});
        for (const std::uint64_t index : {0, 2, 3, 5}) receipt.audits.push_back({index, 1, {ledger::to_0x(auditor)}});
    }
    /// Returns the error in the receipt; empty if there is none.
    std::string fault() {
        const auto checked = check_receipt(receipt, state);
        if (!checked) return checked.error().message;
        const auto audited = require_audits(*checked, receipt, state);
        return audited ? "" : audited.error().message;
    }
};

struct ReceiptCheck : ::testing::Test, DeliveredTask {};

TEST_F(ReceiptCheck, PassesWhatTheLedgerSays) {
    EXPECT_EQ(fault(), "");
    const auto checked = check_receipt(receipt, state);
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->states, 7u);
    EXPECT_EQ(checked->verified, 4u);
    EXPECT_EQ(checked->not_drawn, 2u);
    EXPECT_EQ(checked->unaudited, 0u);
    EXPECT_EQ(checked->auditors, 4u);
    receipt.states[kSuccession].height = 103;
    EXPECT_EQ(fault(), "") << "the run before opened this state too";
}

TEST_F(ReceiptCheck, SaysWhatRestsOnTheSolversWord) {
    const auto said = [&] { return not_audited(*check_receipt(receipt, state)); };
    EXPECT_EQ(said(), "");
    verify(1, 4, market::SeatState::missed);
    EXPECT_EQ(said(), "NOT AUDITED in part: 1 segment that was drawn rests on the solver's word");
    not_drawn(1, 4);
    receipt.audits.clear();
    for (const std::uint64_t index : {0, 2}) not_drawn(0, index);
    for (const std::uint64_t index : {3, 5}) not_drawn(1, index);
    EXPECT_EQ(said(), "NOT AUDITED: nobody has checked any segment; the model rests on its solver's word");
}

TEST_F(ReceiptCheck, WhatWasDrawnAndNotAuditedIsNamedThoughItsStatesAreLeftOut) {
    verify(1, 4, market::SeatState::missed);
    EXPECT_THAT(fault(), HasSubstr("nobody audited segment 4"));
    std::erase_if(receipt.states, [](const auto& entry) { return entry.index == 4 || entry.index == 5; });
    EXPECT_THAT(fault(), HasSubstr("nobody audited segment 4"));
    receipt.states = {receipt.states.front(), receipt.states.back()};
    EXPECT_THAT(fault(), HasSubstr("nobody audited segment 4"));
}

TEST_F(ReceiptCheck, TheFirstOfEachRunAndTheLastAreAlwaysAudited) {
    for (const std::uint64_t index : {0, 3, 5}) {
        DeliveredTask other;
        other.not_drawn(index < kSuccession ? 0 : 1, index);
        std::erase_if(other.receipt.audits, [&](const auto& entry) { return entry.segment == index; });
        EXPECT_THAT(other.fault(), HasSubstr("nobody audited segment " + std::to_string(index)));
    }
}

TEST_F(ReceiptCheck, AVerdictThatIsLeftOutIsMissed) {
    receipt.audits.erase(receipt.audits.begin() + 1);
    EXPECT_THAT(fault(), HasSubstr("the receipt lacks the audit of segment 2"));
    receipt.audits.insert(receipt.audits.begin() + 1, {2, 1, {}});
    EXPECT_THAT(fault(), HasSubstr("audit of segment 2 is not the ledger's"));
}

TEST_F(ReceiptCheck, AnotherRunsAuditIsNone) {
    not_drawn(1, 3);
    EXPECT_THAT(fault(), HasSubstr("audit of segment 3 is not the ledger's")) << "run 0 had one";
}

TEST_F(ReceiptCheck, AnotherRunsStateIsNone) {
    receipt.states[4].root = Hash32{{99}};
    receipt.states[4].height = 104;
    EXPECT_THAT(fault(), HasSubstr("state 4 is not the ledger's"));
}

TEST_F(ReceiptCheck, WhoLostItsRunDeliveredNothing) {
    open(0, kSegments, root_of(kSegments));
    receipt.solver = ledger::to_0x(cheat);
    EXPECT_THAT(fault(), HasSubstr("solver is not the ledger's"));
}

}  // namespace
}  // namespace retrace::node
