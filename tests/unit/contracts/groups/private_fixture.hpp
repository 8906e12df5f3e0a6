// SPDX-License-Identifier: MIT
// A private group with three seats on the made-up states of group_fixture.hpp.
#pragma once

#include "contracts/lifecycle/audits/reports.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {

class PrivateGroups : public GroupTest {
protected:
    using Names = std::vector<std::string>;

    market::GroupSpec private_terms() const {
        market::GroupSpec terms = small_terms();
        terms.private_sets = 1;
        return terms;
    }
    static std::vector<Address> accounts(const Names& names) {
        std::vector<Address> out;
        for (const std::string& name : names) out.push_back(party(name));
        std::sort(out.begin(), out.end());
        return out;
    }
    static Hash32 data_of(std::uint32_t index) { return word("data " + std::to_string(index)); }

    void post(std::uint16_t audit_bp, const market::GroupSpec& terms) {
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
        advance(9);
        TaskSpec spec = spec_of(terms, 3);
        spec.audit_bp = audit_bp;
        ASSERT_EQ(post_group(spec, terms), CallStatus::ok) << last.revert_reason;
    }
    void post(std::uint16_t audit_bp) { post(audit_bp, private_terms()); }
    void begin(std::uint16_t audit_bp = 10'000) { begin(audit_bp, private_terms()); }
    void begin(std::uint16_t audit_bp, const market::GroupSpec& terms) {
        post(audit_bp, terms);
        ASSERT_EQ(send("requester", AdmitMembers{1, accounts({"alice", "bob", "carol"})}), CallStatus::ok);
        auction({{"alice", 400}, {"bob", 410}, {"carol", 420}});
        for (const std::uint32_t index : task().active) {
            ASSERT_EQ(send(solver_of(index), AcceptData{1}), CallStatus::ok);
            ASSERT_EQ(send(solver_of(index), CommitData{1, index, {data_of(index)}}), CallStatus::ok);
        }
        begin_rounds();
    }
    /// Member `index` consents to these, and they accept.
    void consent(std::uint32_t index, const Names& names) {
        ASSERT_EQ(send(solver_of(index), GiveConsent{1, index, accounts(names)}), CallStatus::ok);
        for (const std::string& name : names) ASSERT_EQ(send(name, AcceptConsent{1, index}), CallStatus::ok);
    }
    /// These take in the records before the open round, each in a segment of its own, and train.
    void play_private_round(const std::vector<std::uint32_t>& members) {
        const std::uint32_t now = group().round;
        for (const std::uint32_t index : members) {
            if (views::taken_in_until(state, 1, index) != now) {
                ASSERT_EQ(send(solver_of(index), next_commit(index, now, 0)), CallStatus::ok) << last.revert_reason;
            }
            ASSERT_EQ(train(index), CallStatus::ok) << last.revert_reason;
        }
        spread(members);
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }
    /// Does what answerUnavailable::apply does: made-up states have no tiles to prove.
    void answer_report(std::uint64_t id, const std::string& by) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        close_report(fx, id, party(by));
        resume_after_answer(fx, views::report(next, id).value());
        state.apply(next.diff());
    }
    void play_all_rounds() {
        while (group().phase != GroupPhase::over) play_private_round({0, 1, 2});
        deliver({0, 1, 2});
    }
    U256 challenge_bond() const { return market::challenge_bond(params, views::spec(state, 1).value()); }
    bool trains(std::uint32_t index, std::uint64_t i) const {
        return views::member_segment(state, 1, index, i)->steps != 0;
    }
    std::vector<Address> auditors_of(std::uint32_t index, std::uint64_t i) const {
        std::vector<Address> out;
        for (const AuditorsDrawn& drawn : all<AuditorsDrawn>())
            if (drawn.run == index && drawn.segment == i)
                out.insert(out.end(), drawn.auditors.begin(), drawn.auditors.end());
        return out;
    }
    std::string posted(const std::function<void(TaskSpec&, market::GroupSpec&)>& change) {
        market::GroupSpec group = private_terms();
        TaskSpec spec = spec_of(group);
        change(spec, group);
        return std::string(slug(post_group(spec, group)));
    }
};

}  // namespace retrace::contracts
