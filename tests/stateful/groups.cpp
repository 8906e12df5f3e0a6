// SPDX-License-Identifier: MIT
// Requesters and members of groups: rounds, messages, lists, openings, seats.
#include <algorithm>

#include "market/escrow.hpp"
#include "market/odds.hpp"
#include "tests/stateful/group_states.hpp"
#include "tests/stateful/send.hpp"

namespace retrace::stateful {

using namespace contracts;
using market::AuditPhase;
using market::GroupPhase;

void Players::post_group() {
    market::GroupSpec terms = group_terms();
    terms.rounds = static_cast<std::uint32_t>(draws_.between(1, 5));
    terms.round_blocks = draws_.between(4, 40);
    terms.grace_blocks = draws_.between(1, 8);
    terms.fetch_blocks = draws_.between(2, 8);
    terms.reveal_blocks = draws_.between(2, 8);
    terms.absence_limit = static_cast<std::uint32_t>(draws_.between(1, 3));
    terms.keep_rounds = terms.absence_limit + static_cast<std::uint32_t>(draws_.below(4));
    // Of eight groups two have masks, one has regions and two have private data.
    const std::uint64_t kind = draws_.below(8);
    const bool masked = kind < 2, regional = kind == 2, is_private = kind == 3 || kind == 4;
    if (!masked)
        terms.max_age = static_cast<std::uint32_t>(
            draws_.below(std::min(terms.absence_limit, terms.keep_rounds - terms.absence_limit + 1)));
    if (masked) {
        terms.mask_bits = 10;
        terms.mask_blocks = draws_.between(3, 4);  // Three places in the set of validators.
        terms.round_blocks += 3 * (terms.mask_blocks + 1) + terms.mask_blocks;
        terms.least = 3;
        for (std::uint8_t phase = 9; phase <= 10; ++phase) terms.phases.push_back({phase, phase == 10, word(1, phase)});
    }
    if (regional) divide_in_regions(terms);
    market::TaskSpec spec = secrets_.facts();
    spec.name = "group";
    spec.program_root = plan_of(terms).root();
    spec.init_root = terms.phases.front().program_root;
    spec.initial_state_root = Hash32{};
    spec.interval = 1;
    spec.steps = std::uint64_t{terms.rounds} + 1;
    // With four a complaint may put one out.
    spec.replicas = static_cast<std::uint8_t>(draws_.between(masked || regional ? 4 : 2, 6));
    terms.catch_up_max = spec.replicas * static_cast<std::uint32_t>(draws_.between(1, 3)) + (masked ? 256 : 0);
    spec.price_ceiling = draws_.one_in(2) ? U256(market::kMilli) : U256(1'000);
    constexpr std::uint16_t kShares[] = {1, 500, 2'500, 10'000};
    spec.audit_bp = kShares[draws_.below(std::size(kShares))];
    spec.auditors = static_cast<std::uint8_t>(draws_.between(1, 3));
    spec.replay_blocks = draws_.below(4);
    spec.finish_blocks = draws_.between(200, 2'000);
    spec.allow_unaudited = draws_.one_in(2);
    if (is_private) {
        terms.private_sets = static_cast<std::uint8_t>(draws_.between(1, 2));
        spec.allow_unaudited = true;
        spec.data_roots.clear();
    }
    draw_auctions(spec);
    const auto escrow = market::escrow_of(spec, profile_.params);
    const Address requester = party(profile_.accounts - 1 - static_cast<std::uint32_t>(draws_.below(2)));
    ++posted_;
    if (!escrow || send(requester, PostGroup{spec, terms}, escrow->total()) != CallStatus::ok || !is_private) return;
    std::vector<Address> accounts;
    for (std::uint32_t i = 0; i < profile_.solvers; ++i) accounts.push_back(party(i));
    std::sort(accounts.begin(), accounts.end());
    send(requester, AdmitMembers{views::task_count(world_.state()), std::move(accounts)});
}

void Players::serve_private(const market::Run& run) {
    const auto terms = views::group_spec(world_.state(), run.task);
    if (terms->private_sets == 0) return;
    if (!views::has_data(world_.state(), run.task, run.index)) {
        const std::vector<Hash32> data(terms->private_sets, word(9, run.task, run.index));
        return (void)send(run.solver, CommitData{run.task, run.index, data});
    }
    if (profile_.verifiers > 0 && draws_.one_in(20)) send(run.solver, GiveConsent{run.task, run.index, {verifier()}});
    const market::Consent consent = views::consent(world_.state(), run.task, run.index);
    for (const Address& named : consent.named) {
        if (draws_.one_in(4)) send(named, AcceptConsent{run.task, run.index});
        // By itself, or by the member.
        if (draws_.one_in(30)) send(draws_.one_in(2) ? named : run.solver, WithdrawConsent{run.task, run.index, named});
    }
    for (const market::FormerAuditor& former : consent.former)
        if (draws_.one_in(20)) send(former.account, WithdrawConsent{run.task, run.index, former.account});
}

void Players::serve_group(const TaskModel& model) {
    const market::Task task = model.task;
    if (task.state != market::TaskState::running || task.active.empty() || !draws_.one_in(8)) return;
    const Address who = solver();
    if (const auto floor = market::stake_floor(profile_.params, model.spec))
        bond(who, *floor + (is_member(who) ? profile_.params.beacon_penalty : U256()));
    const bool begins = model.group->phase == GroupPhase::starting;
    const std::uint32_t anchor = begins ? 0 : draws_.pick(task.active);
    const std::uint64_t index = begins ? 0 : model.runs[anchor].run.finalised;
    send(who, JoinTask{task.id, anchor, index}, market::join_fee(profile_.params, model.spec, index));
}

void Players::commit_segment(const TaskModel& model, const market::Run& run) {
    const MemberCalls calls(world_.state(), run);
    const auto truth = secrets_.truth_of(run.task, run.index, run.next_state, true);
    const bool lie = truth != Secrets::Truth::right, fork = truth == Secrets::Truth::closed;
    if (run.next_state == 0) return (void)send(run.solver, calls.first(lie));
    if (calls.is_behind())
        if (const auto call = calls.next(calls.round(), 0, lie, fork)) return (void)send(run.solver, *call);
    const GroupPhase phase = model.group->phase;
    if (phase != GroupPhase::training && phase != GroupPhase::over) return;
    const auto drawn = static_cast<std::uint32_t>(phase == GroupPhase::over ? 0 : draws_.between(1, 4));
    const std::uint32_t steps = calls.is_merging() ? std::min(drawn, 1u) : drawn;
    const auto age = static_cast<std::uint32_t>(steps == 0 ? 0 : draws_.below(calls.max_age() + 1));
    for (const std::uint32_t base : {calls.round() - std::min(calls.round(), age), calls.round()})
        if (const auto call = calls.next(base, steps, lie, fork)) return (void)send(run.solver, *call);
    // It is behind by more than one segment may take in.
    for (std::uint32_t base = calls.round(); base > 0; --base)
        if (const auto call = calls.next(base - 1, 0, lie, fork)) return (void)send(run.solver, *call);
}

void Players::exchange_messages(const TaskModel& model, const market::Run& run) {
    const MemberCalls calls(world_.state(), run);
    if (!calls.lists()) return;
    const bool has_all = mixed(run.task * 31 + model.group->round * 7 + run.index) % 4 != 0;
    if (model.group->phase == GroupPhase::spreading)
        send(run.solver, calls.list(has_all));
    else if (model.group->phase == GroupPhase::revealing)
        send(run.solver, calls.reveal(has_all));
}

void Players::open_member_states(const market::Run& run, const RunModel& model) {
    std::vector<std::uint64_t> due;
    for (auto state = model.states.lower_bound(run.finalised); state != model.states.end() && due.size() < 4; ++state) {
        if (state->second.opened) continue;
        bool waits = state->second.open_deadline != 0;
        for (const std::uint64_t id : mirror().open_audits) {
            const market::Audit& audit = mirror().audits[id - 1];
            if (audit.task != run.task || audit.run != run.index || audit.deadline == 0) continue;
            waits = waits || (audit.phase == AuditPhase::opening && audit.segment == state->first) ||
                    (audit.phase == AuditPhase::revealing && audit.segment + 1 == state->first);
        }
        if (waits) due.push_back(state->first);
    }
    for (const std::uint64_t index : due)
        if (const auto call = MemberCalls(world_.state(), run).open(index)) send(run.solver, *call);
    for (const std::uint64_t id : mirror().open_audits) {
        const market::Audit audit = mirror().audits[id - 1];
        if (audit.task != run.task || audit.run != run.index || audit.phase != AuditPhase::opening) continue;
        if (const auto call = MemberCalls(world_.state(), run).show(audit.segment)) send(run.solver, *call);
    }
}

std::optional<std::uint64_t> Players::message_taken_in(const market::Audit& audit) {
    const auto segment = views::member_segment(world_.state(), audit.task, audit.run, audit.segment);
    for (std::uint32_t round = segment ? segment->from : 0; segment && round < segment->base; ++round) {
        const auto record = views::round(world_.state(), audit.task, round);
        if (record && !record->entries.empty()) return (std::uint64_t{round} << 16) + draws_.pick(record->entries).run;
    }
    return std::nullopt;
}

void Players::serve_member(const TaskModel& model, const RunModel& run) {
    const market::Run now = run.run;
    const bool stops = mixed(now.task * 31 + now.index) % 100 < profile_.stops && now.next_state > mixed(now.task) % 3;
    if (!stops && diligent()) serve_private(now);
    if (!stops && diligent() && draws_.one_in(3)) commit_segment(model, now);
    if (!stops && diligent()) exchange_messages(model, now);
    if (!stops && diligent()) mask_messages(model, now);
    if (diligent()) open_member_states(now, run);
    challenge_windows(model, run);
    if (draws_.one_in(150)) send(now.solver, LeaveTask{now.task, now.index});
}

}  // namespace retrace::stateful
