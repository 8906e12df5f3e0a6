// SPDX-License-Identifier: MIT
// Requesters and solvers: tasks, auctions, states.
#include "contracts/records/auctions.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/store.hpp"
#include "market/auction.hpp"
#include "market/escrow.hpp"
#include "market/odds.hpp"
#include "solver/commitments.hpp"
#include "tests/stateful/send.hpp"

namespace retrace::stateful {

using namespace contracts;
using market::RunState;
using market::TaskState;

void Players::post_task() {
    market::TaskSpec spec = secrets_.facts();
    spec.name = "task";
    if (draws_.one_in(3) || profile_.kind == Kind::crowd) {
        spec.init_root = spec.program_root;
        spec.initial_state_root = Hash32{};
    }
    spec.interval = draws_.between(1, 20);
    spec.steps = draws_.between(1, profile_.segments) * spec.interval;
    if (profile_.kind == Kind::lengthy)
        spec.steps = profile_.segments * spec.interval;
    else
        spec.steps -= draws_.below(spec.interval);
    spec.interval = std::min(spec.interval, spec.steps);
    spec.price_ceiling = draws_.one_in(2) ? U256(market::kMilli) : U256(1'000);
    constexpr std::uint16_t kShares[] = {1, 500, 2'500, 5'000, 10'000};
    spec.audit_bp = kShares[draws_.below(std::size(kShares))];
    if (profile_.attests < 30) spec.audit_bp = 1;
    spec.auditors = static_cast<std::uint8_t>(draws_.between(1, draws_.one_in(8) ? 5 : 3));
    spec.replicas = static_cast<std::uint8_t>(draws_.one_in(2) ? 1 : draws_.between(1, draws_.one_in(4) ? 5 : 3));
    spec.hardware_class = static_cast<std::uint8_t>(draws_.one_in(6) ? draws_.below(3) : 0);
    spec.checkpoint_blocks = draws_.one_in(2) ? 0 : draws_.below(80);
    spec.replay_blocks = draws_.below(8);
    spec.finish_blocks = draws_.one_in(8) ? draws_.between(1, 60) : draws_.between(200, 2'000);
    spec.allow_unaudited = draws_.one_in(2);
    spec.spot = spec.replicas == 1 && draws_.one_in(2);
    spec.step_cost = draws_.one_in(8) ? draws_.below(1'000'000'000) : 0;
    if (profile_.kind == Kind::crowd) spec.replicas = 5, spec.spot = false;
    if (profile_.kind == Kind::lengthy) {
        spec.audit_bp = 1;
        spec.price_ceiling = U256(1'000);
        spec.finish_blocks = 100'000;
        spec.replicas = 1;
    }
    if (profile_.kind == Kind::extreme && draws_.one_in(6))
        spec.price_ceiling = U256(~std::uint64_t{0}) * U256(~std::uint64_t{0});
    if (profile_.kind == Kind::extreme && draws_.one_in(20))
        spec.steps = std::uint64_t{1} << 40, spec.interval = spec.steps / 100'000;
    draw_auctions(spec);
    const auto escrow = market::escrow_of(spec, profile_.params);
    if (escrow)
        send(party(profile_.accounts - 1 - static_cast<std::uint32_t>(draws_.below(2))), PostTask{spec},
             escrow->total());
    ++posted_;
}

void Players::draw_auctions(market::TaskSpec& spec) {
    if (draws_.one_in(2)) return;
    spec.pause_blocks = draws_.one_in(4) ? draws_.below(60) : 0;
    spec.auctions = static_cast<std::uint8_t>(draws_.between(1, std::min<std::uint64_t>(profile_.params.rounds, 4)));
    if (spec.auctions > 1 && draws_.one_in(2))
        spec.last_ceiling = spec.price_ceiling + spec.price_ceiling / U256(draws_.between(1, 8));
}

void Players::bid(const TaskModel& model) {
    const Address who = solver();
    const market::Task& task = model.task;
    if (model.bids.contains(who)) return;
    for (const std::uint32_t active : task.active)
        if (model.runs[active].run.solver == who) return;
    const auto floor = market::stake_floor(profile_.params, model.spec);
    if (!floor) return;
    const auto& p = profile_.params;
    if (!draws_.one_in(30)) bond(who, *floor + (is_member(who) ? p.beacon_penalty : U256()) + p.audit_bond);
    const Hash32 salt = Secrets::salt(task.id, task.round, 3);
    send(who,
         CommitBid{task.id, market::bid_commitment(task.id, task.round, secrets_.price(model, who),
                                                   secrets_.finish(model, who), salt, who)},
         p.bid_deposit);
}

void Players::serve_auction(const TaskModel& model) {
    const market::Task& task = model.task;
    if (world_.height() < task.bid_end) {
        const std::size_t wanted = task.wanted + mixed(task.id) % 3;
        for (std::size_t tries = 0; tries < 8 && model.task.bidders.size() < wanted; ++tries) bid(model);
        return;
    }
    if (world_.height() >= task.reveal_end) return;
    const std::vector<Address> bidders = task.bidders;
    for (const Address& who : bidders)
        if (!model.bids.at(who).revealed && diligent())
            send(who, RevealBid{task.id, secrets_.price(model, who), secrets_.finish(model, who),
                                Secrets::salt(task.id, task.round, 3)});
}

void Players::commit_states(const TaskModel& model, const RunModel& run) {
    const market::Run now = run.run;
    const std::uint64_t most = profile_.kind == Kind::lengthy ? 40
                               : profile_.kind == Kind::crowd ? 2
                                                              : draws_.between(1, 3);
    for (std::uint64_t i = now.next_state; i < now.next_state + most && i <= model.spec.segments(); ++i) {
        const Hash32 sealed = solver::checkpoint_commitment(
            now.task, now.index, i, Secrets::salt(now.task, now.index, i), secrets_.run_root(model, now.index, i));
        if (model.spec.spot && draws_.one_in(12))
            return (void)send(now.solver, GiveBack{now.task, now.index, i, sealed});
        if (send(now.solver, CommitCheckpoint{now.task, now.index, i, sealed}) != CallStatus::ok) return;
    }
}

void Players::open_states(const TaskModel& model, const RunModel& run) {
    const market::Run now = run.run;
    OpenRoots call{now.task, now.index, 0, {}, {}};
    for (auto state = run.states.lower_bound(now.finalised); state != run.states.end(); ++state) {
        const auto& [i, point] = *state;
        const bool due = !point.opened && point.open_deadline != 0;
        if (due && call.roots.empty()) call.first = i;
        if (due) {
            call.salts.push_back(Secrets::salt(now.task, now.index, i));
            call.roots.push_back(secrets_.run_root(model, now.index, i));
        }
        if (!call.roots.empty() && (!due || call.roots.size() == 64)) break;
    }
    if (!call.roots.empty()) send(now.solver, call);
}

void Players::ask_keepers(const TaskModel& model, const RunModel& run) {
    const market::Run& own = run.run;
    for (const RunModel& other : model.runs) {
        const auto state = other.states.find(own.first_state);
        if (state == other.states.end() || state->second.keepers.empty() || state->second.root != own.first_root)
            continue;
        const Address who = own.solver;
        return report(who, market::ReportKind::kept, own.task, other.run.index, own.first_state);
    }
}

void Players::challenge_windows(const TaskModel& model, const RunModel& run) {
    const market::Run now = run.run;
    std::vector<std::uint64_t> open;
    for (auto segment = run.segments.lower_bound(now.finalised); segment != run.segments.end() && open.size() < 16;
         ++segment)
        if (segment->second.window_end > world_.height()) open.push_back(segment->first);
    for (const std::uint64_t i : open) {
        if (!draws_.percent(profile_.challenges)) continue;
        const Address who = anybody();
        bond(who, profile_.params.min_verifier_stake);
        const Hash32 right = secrets_.true_root(model.spec, i + 1);
        const Hash32 claimed = run.states.at(i + 1).root == right ? Secrets::salt(i, 7, 7) : right;
        if (draws_.one_in(8))
            send(who, ChallengeInitial{now.task, now.index, claimed},
                 market::challenge_bond(profile_.params, model.spec));
        else
            send(who, ChallengeSegment{now.task, now.index, i, claimed},
                 market::challenge_bond(profile_.params, model.spec));
    }
    const auto first = run.states.find(0);
    if (!model.spec.init_root.is_zero() && first != run.states.end() && first->second.opened && now.next_state > 1 &&
        now.finalised == 0 && draws_.percent(profile_.challenges)) {
        const Address who = anybody();
        bond(who, profile_.params.min_verifier_stake);
        const Hash32 right = secrets_.true_root(model.spec, 0);
        send(who, ChallengeInitial{now.task, now.index, first->second.root == right ? Secrets::salt(7, 7, 7) : right},
             market::challenge_bond(profile_.params, model.spec));
    }
}

void Players::serve_run(const TaskModel& model, const RunModel& run) {
    const market::Run now = run.run;
    if (model.group && now.state == RunState::running) return serve_member(model, run);
    if (now.state == RunState::assigned) {
        if (now.first_state > 0 && draws_.one_in(8)) ask_keepers(model, run);
        if (draws_.one_in(40))
            send(now.solver, DeclineTask{now.task});
        else if (draws_.percent(profile_.accepts))
            send(now.solver, AcceptData{now.task});
        return;
    }
    if (now.state != RunState::running) return;
    if (now.first_state > 0 && now.next_state == now.first_state && draws_.one_in(8)) ask_keepers(model, run);
    const bool stops = mixed(now.task * 31 + now.index) % 100 < profile_.stops &&
                       now.next_state > mixed(now.task) % (1 + std::min<std::uint64_t>(model.spec.segments(), 12));
    if (now.next_state <= model.spec.segments() && !stops && diligent() &&
        (profile_.kind == Kind::lengthy || draws_.one_in(2)))
        commit_states(model, run);
    if (diligent()) open_states(model, run);
    challenge_windows(model, run);
    if (draws_.one_in(12)) {
        // A state that is opened, after the last paid one, and has no keeper.
        const market::Run& fresh = run.run;
        for (auto state = run.states.upper_bound(fresh.paid); state != run.states.end(); ++state) {
            if (!state->second.opened || !state->second.keepers.empty()) continue;
            const U256 fee = ledger::max(profile_.params.audit_fee, U256(1));
            send(fresh.solver, RequestRetention{fresh.task, fresh.index, state->first}, fee);
            break;
        }
    }
}

void Players::report_model(const TaskModel& model, std::uint32_t run) {
    const std::uint64_t last = model.group ? model.runs[run].run.next_state - 1 : model.spec.segments();
    report(model.task.requester, market::ReportKind::model, model.task.id, run, last);
}

void Players::reserve_time(const TaskModel& model) {
    market::TaskSpec spec = model.spec;
    spec.replicas = 1;
    const std::uint64_t from = world_.height() + draws_.between(1, 40), until = from + draws_.between(1, 60);
    const auto floor = market::stake_floor(profile_.params, spec);
    if (!floor || spec.price_ceiling.is_zero()) return;
    // Several may end at one height, also of one solver.
    for (std::uint64_t left = draws_.between(1, 3); left > 0; --left)
        send(model.task.requester, Reserve{spec, solver(), spec.price_ceiling, from, until},
             ledger::min(*floor, U256(draws_.between(1, 1'000'000))));
}

void Players::serve_reservations() {
    for (std::uint64_t id = 1; id <= views::reservation_count(world_.state()); ++id) {
        const auto now = views::reservation(world_.state(), id).value();
        const auto spec = views::reserved_spec(world_.state(), id);
        const auto either = [&](const Address& who) { return draws_.one_in(24) ? anybody() : who; };
        if (now.state == market::ReservationState::offered && draws_.one_in(4)) {
            bond(now.solver, *market::stake_floor(profile_.params, *spec));
            send(either(now.solver), AcceptReservation{id});
        } else if (now.state == market::ReservationState::offered && draws_.one_in(12)) {
            send(either(now.requester), WithdrawReservation{id});
        } else if (now.state == market::ReservationState::accepted && world_.height() >= now.from && draws_.one_in(4)) {
            send(either(now.requester), BeginReserved{id}, market::escrow_of(*spec, profile_.params)->total());
        }
    }
}

void Players::top_up(const TaskModel& model) {
    const auto known = views::auctions_or_one(world_.state(), model.task.id, model.spec);
    const U256 least = ledger::max(model.spec.price_ceiling, known.least);
    const U256 ceiling = draws_.one_in(4) ? least : least + least / U256(2);
    market::TaskSpec covered = model.spec;
    covered.price_ceiling = market::covered_ceiling(model.spec, known);
    const U256 price = market::escrow_of_top_up(covered, profile_.params, model.task.first_state, ceiling).total() +
                       U256(draws_.below(3));
    send(model.task.requester, TopUpTask{model.task.id, ceiling, static_cast<std::uint32_t>(draws_.below(3))}, price);
}

void Players::serve_requester(const TaskModel& model) {
    const market::Task task = model.task;
    if (task.state == TaskState::bidding && draws_.one_in(100)) send(task.requester, CancelTask{task.id});
    if (task.state == TaskState::delivering) {
        if (draws_.one_in(8) && !task.active.empty())
            report_model(model, draws_.pick(task.active));
        else if (draws_.one_in(5))
            send(task.requester, AcceptModel{task.id});
    }
    for (const std::uint32_t active : task.active) {
        const market::Run& run = model.runs[active].run;
        if (run.unaudited_since == 0 || run.unaudited_since + profile_.params.unaudited_blocks > world_.height())
            continue;
        if (draws_.one_in(3)) return (void)send(task.requester, DecideUnaudited{task.id, active, draws_.one_in(2)});
    }
    if (model.group) return;  // It has no replicas, and the auctions of its terms only.
    if (draws_.one_in(60)) top_up(model);
    if (profile_.kind != Kind::crowd && draws_.one_in(160)) reserve_time(model);
    if (task.state == TaskState::running && task.wanted == 0 && task.active.size() < market::kReplicasMax &&
        draws_.one_in(profile_.raises)) {
        const auto joining = views::newest_finalised_state(world_.state(), task);
        if (joining.index >= model.spec.segments()) return;
        const auto more = static_cast<std::uint8_t>(draws_.between(1, market::kReplicasMax - task.active.size()));
        send(task.requester, RaiseReplicas{task.id, static_cast<std::uint8_t>(task.active.size() + more)},
             market::escrow_of_more(model.spec, profile_.params, joining.index, more).total());
    }
}

void Players::serve_tasks() {
    const std::uint64_t burst = profile_.kind == Kind::crowd ? 120 : 1;
    for (std::uint64_t i = 0;
         i < burst && mirror().active_tasks.size() < profile_.tasks && posted_ < profile_.tasks_in_all && !out_of_gas();
         ++i)
        if (burst > 1 || draws_.one_in(4)) profile_.kind != Kind::crowd&& draws_.one_in(4) ? post_group() : post_task();
    if (!out_of_gas()) serve_reservations();
    const std::vector<std::uint64_t> active(mirror().active_tasks.begin(), mirror().active_tasks.end());
    for (const std::uint64_t id : active) {
        if (out_of_gas()) return;
        const TaskModel& model = mirror().tasks[id - 1];
        if (model.task.wanted != 0) serve_auction(model);
        const std::vector<std::uint32_t> runs = model.task.active;
        for (const std::uint32_t run : runs) serve_run(model, model.runs[run]);
        if (model.group) serve_group(model);
        serve_requester(model);
    }
}

}  // namespace retrace::stateful
