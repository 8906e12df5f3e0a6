// SPDX-License-Identifier: MIT
// A group without machines: the tensors of its members' states are words. Tensor 0 is shared, 1 is a member's own, 2 and
// 3 are its message.
#pragma once

#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/isolate.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/methods.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/store.hpp"
#include "kernels/plan/positions.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"
#include "verifier/game/public_leaves.hpp"

namespace retrace::contracts {

using market::AuditPhase;
using market::GroupPhase;
using market::RunState;
using market::TaskState;

class GroupTest : public MarketTest {
protected:
    GroupTest() {
        add_parties();
        plan_.states = 4;
        plan_.ops = 1;
    }
    void add_parties() {
        for (const char* name : {"erin", "frank"}) {
            EXPECT_TRUE(ledger::mint(state, party(name), U256(1'000) * kCoin));
            parties.push_back(party(name));
        }
    }
    /// Begins the chain anew, as one of developers or of strangers.
    void begin_chain(bool of_developers) {
        market::Params wanted = small_params();
        wanted.developer_chain = of_developers;
        MarketTest::begin(wanted);
        add_parties();
    }

    market::GroupSpec small_terms() const {
        market::GroupSpec g;
        g.rounds = 3;
        g.steps_max = 10;
        g.shared = 1;
        g.public_tensors = {2, 3};
        for (std::uint8_t phase = 1; phase <= 8; ++phase)
            g.phases.push_back({phase, phase >= 6, word("phase " + std::to_string(phase))});
        g.phases[5].program_root = plan_.root();
        g.least = 2;
        g.round_blocks = 20;
        g.grace_blocks = 4;
        g.fetch_blocks = 6;
        g.reveal_blocks = 4;
        g.absence_limit = 2;
        g.keep_rounds = 8;
        g.catch_up_max = 64;
        return g;
    }
    static Hash32 plan_root(const market::GroupSpec& group) {
        kernels::PlanHeader header{group.steps_max, group.shared, group.public_tensors, {}};
        for (const market::PhaseRoot& phase : group.phases)
            header.phases.push_back({static_cast<kernels::Phase>(phase.phase), phase.member_seed, phase.program_root});
        return header.root();
    }
    TaskSpec spec_of(const market::GroupSpec& group, std::uint8_t members = 4) const {
        TaskSpec spec = small_spec();
        spec.program_root = plan_root(group);
        spec.init_root = group.phases.empty() ? Hash32() : group.phases[0].program_root;
        spec.initial_state_root = Hash32();
        spec.steps = std::uint64_t{group.rounds} + 1;
        spec.interval = 1;
        spec.replicas = members;
        spec.audit_bp = draw_all_ ? 10'000 : 1'000;
        if (group.private_sets != 0) {
            spec.data_roots.clear();
            spec.allow_unaudited = true;
        }
        return spec;
    }
    CallStatus post_group(const TaskSpec& spec, const market::GroupSpec& group) {
        const auto escrow = market::escrow_of(spec, params);
        return send("requester", PostGroup{spec, group}, escrow ? escrow->total() : U256());
    }
    market::Group group(std::uint64_t id = 1) const { return views::group(state, id).value(); }
    market::Member member(std::uint32_t run) const { return views::member(state, 1, run).value(); }
    market::Round round(std::uint32_t index) const { return views::round(state, 1, index).value(); }

    /// Posts a group, sells its seats to these, and has all accept.
    void start_group(const market::GroupSpec& terms,
                     const std::vector<std::string>& names = {"alice", "bob", "carol", "dave"}) {
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        for (const std::string& name : names) add_solver(name);
        advance(9);
        ASSERT_EQ(post_group(spec_of(terms, static_cast<std::uint8_t>(names.size())), terms), CallStatus::ok)
            << last.revert_reason;
        std::map<std::string, std::uint64_t> prices;
        for (const std::string& name : names) prices[name] = 400 + 10 * prices.size();
        auction(prices);
        ASSERT_EQ(task().state, TaskState::assigned);
        for (const std::string& name : names) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    }
    /// All members commit to their first state, and the first round begins.
    void begin_rounds() {
        for (const std::uint32_t index : task().active) ASSERT_EQ(commit_first(index), CallStatus::ok);
        next_block();
        ASSERT_EQ(group().phase, GroupPhase::training);
    }

    // --- states ---

    static std::string name_of_member(const Address& address) {
        for (const char* name : {"erin", "frank"})
            if (party(name) == address) return name;
        return name_of(address);
    }
    std::string solver_of(std::uint32_t index) const { return name_of_member(run(index).solver); }

    struct Made {
        kernels::StateCommitment commitment;
        bool sends = false;
        bool wrong = false;  ///< An auditor finds another root.
        Bytes masks{};       ///< Of the message: an encoded market::MaskOpening.
    };
    kernels::StateCommitment made(std::uint32_t index, std::uint64_t step, std::uint32_t base, std::uint64_t i,
                                  const std::string& twist) const {
        const std::string own = std::to_string(index) + " " + std::to_string(i) + twist;
        kernels::StateCommitment out;
        out.tensor_roots = {word("shared " + std::to_string(base) + undone_below(base) + forks_of(index)),
                            word("own " + own), word("places " + own), word("codes " + own)};
        const auto spec = views::spec(state, 1).value();
        out.header = {spec.contract_hash, spec.program_root, step, out.tree().root()};
        out.root = out.header.root();
        return out;
    }
    /// The rollbacks that changed a record below the base.
    std::string undone_below(std::uint32_t base) const {
        const auto noted = views::rollbacks(state, 1).noted;
        const std::uint32_t changed = market::changed_by(noted, static_cast<std::uint8_t>(noted.size()), base);
        return changed == 0 ? "" : " without " + std::to_string(changed);
    }
    std::string forks_of(std::uint32_t index) const { return forks.contains(index) ? " forked" : ""; }
    CallStatus commit_first(std::uint32_t index) {
        const std::uint32_t entered = member(index).entered;
        const auto first = made(entered == 0 ? 0 : index, kernels::header_step(entered, 0), entered, 0, "");
        states_[{index, 0}] = {first, false, false};
        const Hash32 blind = solver::checkpoint_commitment(1, index, 0, salt(index, 0), first.root);
        return send(solver_of(index), CommitCheckpoint{1, index, 0, blind});
    }
    /// The call that commits to the member's next state.
    CommitRound next_commit(std::uint32_t index, std::uint32_t base, std::uint32_t steps) {
        const std::uint64_t i = run(index).next_state;
        CommitRound call{1, index, i, base, steps, {}, {}};
        const bool legal = base <= group().round;
        const auto segment = legal ? next_segment(state, 1, index, base, steps)
                                   : Result<market::MemberSegment, CallStatus>(market::MemberSegment{});
        const std::uint64_t place = segment ? segment->positions : 0;
        Made next{made(index, kernels::header_step(base, place), base, i, wrong_members.contains(index) ? "!" : ""),
                  steps != 0, wrong_members.contains(index) || forks.contains(index)};
        if (steps != 0) call.message = {next.commitment.tensor_roots[2], next.commitment.tensor_roots[3]};
        if (steps != 0) next.masks = masks_over(index, call);
        call.commitment = solver::checkpoint_commitment(1, index, i, salt(index, i), next.commitment.root);
        states_[{index, i}] = next;
        return call;
    }
    /// In a group with masks, sets the root of those over the message and returns what opens them.
    virtual Bytes masks_over(std::uint32_t, CommitRound&) { return {}; }
    CallStatus train(std::uint32_t index, std::uint32_t steps = 10) {
        return send(solver_of(index), next_commit(index, group().round, steps));
    }
    CallStatus finish(std::uint32_t index) { return send(solver_of(index), next_commit(index, group().round, 0)); }

    OpenMember opening(std::uint32_t index, std::uint64_t i) const {
        const Made& shown = states_.at({index, i});
        std::vector<std::uint32_t> tensors = {0};
        if (shown.sends) tensors.insert(tensors.end(), {2, 3});
        const auto leaves = verifier::make_public_leaves(shown.commitment, plan_, tensors);
        return {1, index, i, salt(index, i), shown.commitment.root, verifier::encode(leaves)};
    }
    /// Shows the masks over the message of a segment.
    ShowMasks masks_of(std::uint32_t index, std::uint64_t segment) const {
        return {1, index, segment, states_.at({index, segment + 1}).masks};
    }
    /// Root that an honest auditor finds for a state.
    Hash32 right_root(std::uint32_t index, std::uint64_t i) const {
        const Made& posted = states_.at({index, i});
        return posted.wrong ? word("right " + std::to_string(i)) : posted.commitment.root;
    }

    /// The member opens every state that is due.
    void serve_member(std::uint32_t index) {
        if (opens_nothing.contains(index)) return;
        for (std::uint64_t i = 0; run(index).state == RunState::running && i < run(index).next_state; ++i) {
            const auto point = views::checkpoint(state, 1, index, i).value();
            if (point.opened || !is_opening_due(index, i, point)) continue;
            EXPECT_EQ(send(solver_of(index), opening(index, i)), CallStatus::ok) << last.revert_reason;
        }
        show_due_masks(index);
    }
    /// The member shows the masks over messages whose segments were drawn.
    virtual void show_due_masks(std::uint32_t index) {
        if (run(index).state != RunState::running) return;
        for (const std::uint64_t id : open_audit_ids(1, index)) {
            const auto audit = views::audit(state, id).value();
            if (audit.phase != AuditPhase::opening || views::shows_masks(state, 1, index, audit.segment)) continue;
            EXPECT_EQ(send(solver_of(index), masks_of(index, audit.segment)), CallStatus::ok) << last.revert_reason;
        }
    }
    bool is_opening_due(std::uint32_t index, std::uint64_t i, const market::Checkpoint& point) const {
        if (point.open_deadline != 0) return true;
        for (const std::uint64_t id : open_audit_ids(1, index)) {
            const auto audit = views::audit(state, id).value();
            const std::uint64_t start = views::start_of_segment(state, 1, index, audit.segment);
            if (audit.phase == AuditPhase::opening && start == i) return true;
            if (audit.phase == AuditPhase::revealing && audit.deadline != 0 && audit.segment + 1 == i) return true;
        }
        return false;
    }
    /// All auditors make their due calls.
    void audit_members() {
        for (std::uint64_t a = 1; a <= views::audit_count(state); ++a) {
            const market::Audit drawn = views::audit(state, a).value();
            if (drawn.phase == AuditPhase::closed && !keeping) continue;
            for (const market::Seat& seat : drawn.seats) {
                const auto audit = views::audit(state, a).value();
                const std::string name = name_of(seat.auditor);
                const Hash32 mine = right_root(audit.run, audit.segment + 1);
                const Hash32 secret = word("verdict " + name);
                if (audit.phase == AuditPhase::collecting && seat.state == market::SeatState::drawn)
                    send(name, CommitVerdict{a, solver::verdict_commitment(mine, secret, seat.auditor.bytes, a)});
                if (audit.phase == AuditPhase::verdicts && seat.state == market::SeatState::committed) {
                    EXPECT_EQ(send(name, RevealVerdict{a, mine, secret}), CallStatus::ok) << last.revert_reason;
                }
                if (keeping && seat.state == market::SeatState::matched && !seat.paid)
                    send(name, AttestRetention{audit.task, audit.run, audit.segment + 1});
            }
        }
    }

    // --- rounds ---

    /// Bit i stands for the i-th run that committed; a member does not list its own message, nor one in `without`.
    Bytes bitmap(std::uint32_t index, const std::set<std::uint32_t>& without = {}) const {
        const auto committed = group().committed;
        Bytes out((committed.size() + 7) / 8);
        for (std::size_t place = 0; place < committed.size(); ++place)
            if (committed[place] != index && !without.contains(committed[place]))
                out[place / 8] = static_cast<std::uint8_t>(out[place / 8] | 1u << (place % 8));
        return out;
    }
    CallStatus list_messages(std::uint32_t index, const Bytes& bits) {
        const std::uint32_t now = group().round;
        const Hash32 blind = market::holding_commitment(1, index, now, word("holding"), bits);
        return send(solver_of(index), CommitHoldings{1, index, now, blind});
    }
    CallStatus show_messages(std::uint32_t index, const Bytes& bits) {
        return send(solver_of(index), RevealHoldings{1, index, group().round, bits, word("holding")});
    }
    /// Passes a block in which members and auditors do what is due.
    void serve_block() {
        for (const std::uint32_t index : task().active)
            if (run(index).state == RunState::running) serve_member(index);
        audit_members();
        next_block();
    }
    /// These send a message in the open round, and list what the others sent, but for `hidden` messages.
    void play_round(const std::vector<std::uint32_t>& members, const std::set<std::uint32_t>& hidden = {},
                    std::uint32_t steps = 10) {
        const std::uint32_t now = group().round;
        for (const std::uint32_t index : members) ASSERT_EQ(train(index, steps), CallStatus::ok) << last.revert_reason;
        spread(members, hidden);
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }
    void spread(const std::vector<std::uint32_t>& members, const std::set<std::uint32_t>& hidden = {}) {
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
        for (const std::uint32_t index : members)
            ASSERT_EQ(list_messages(index, bitmap(index, hidden)), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
        for (const std::uint32_t index : members)
            ASSERT_EQ(show_messages(index, bitmap(index, hidden)), CallStatus::ok) << last.revert_reason;
    }
    template <class Condition>
    ::testing::AssertionResult serve_until(Condition condition, std::uint64_t limit = 300) {
        for (std::uint64_t i = 0; i < limit; ++i) {
            if (condition()) return ::testing::AssertionSuccess();
            serve_block();
        }
        return ::testing::AssertionFailure() << "not within " << limit << " blocks";
    }
    /// All rounds are closed: the members take in the last records, and the task is delivered.
    void deliver(const std::vector<std::uint32_t>& members) {
        ASSERT_EQ(group().phase, GroupPhase::over);
        for (const std::uint32_t index : members) ASSERT_EQ(finish(index), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return task().state == TaskState::delivering; }));
    }

    bool draw_all_ = false;        ///< All segments are audited.
    kernels::ProgramHeader plan_;  ///< Header of the phase `inner`.
    std::map<std::pair<std::uint32_t, std::uint64_t>, Made> states_;
    std::set<std::uint32_t> wrong_members;  ///< Their states are not what they should be.
    std::set<std::uint32_t> opens_nothing;  ///< Members that do not open their states.
    std::set<std::uint32_t> forks;          ///< Their shared tensors are not those of the others.
};

}  // namespace retrace::contracts
