// SPDX-License-Identifier: MIT
// Reports, answers and verdicts one by one, as a hostile party times them.
#pragma once

#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "tests/unit/contracts/limits_fixture.hpp"

namespace retrace::contracts {

class HostileReports : public Limits {
protected:
    U256 balance(const std::string& name) const { return ledger::balance_of(state, party(name)); }
    U256 bonded(const std::string& name) const { return views::stake(state, party(name)).bonded; }
    /// alice commits to two states of a task, and its first segment is verified.
    void verify_first(std::uint64_t id) {
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] {
            serve("alice", 0, id);
            check_audits();
            return segment(0, 0, id).state == market::SegmentState::verified;
        }));
    }
    /// Does what answerUnavailable::apply does.
    void answer(std::uint64_t id, const std::string& by) {
        ASSERT_EQ(report(id).state, market::ReportState::open) << id;
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        close_report(fx, id, party(by));
        resume_after_answer(fx, views::report(next, id).value());
        state.apply(next.diff());
        check_deep();
    }
    CallStatus say(const std::string& who, std::uint8_t kind, std::uint64_t index, std::uint64_t tile,
                   std::uint64_t id = 1, std::uint32_t run = 0) {
        return send(who, ReportUnavailable{kind, id, run, index, 0, tile}, params.report_fee);
    }
    market::Report report(std::uint64_t id) const { return views::report(state, id).value(); }
    market::Audit audit(std::uint64_t id) const { return views::audit(state, id).value(); }
    CallStatus commit_verdict(const std::string& who, std::uint64_t a) {
        return send(who, CommitVerdict{a, solver::verdict_commitment(root(audit(a).segment + 1), word("verdict " + who),
                                                                     party(who).bytes, a)});
    }
    /// The audit of a segment of a run when it has seats, else 0.
    std::uint64_t seated(std::uint64_t segment_index, std::uint64_t id = 1, std::uint32_t r = 0) const {
        const auto s = views::segment(state, id, r, segment_index);
        if (!s || s->audit == 0 || audit(s->audit).seats.empty()) return 0;
        return s->audit;
    }
};

}  // namespace retrace::contracts
