// SPDX-License-Identifier: MIT
#include "tests/simulation/requester_party.hpp"

#include <algorithm>

#include "contracts/records/group_positions.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/reservations.hpp"
#include "kernels/commit/contract.hpp"
#include "market/escrow.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;

constexpr std::uint64_t kAskBlocks = 6;

/// The state that the first active run delivers.
std::uint64_t last_state(const ledger::StateView& view, const market::Task& task, const market::TaskSpec& spec) {
    if (!views::is_group(view, task.id)) return spec.segments();
    return views::run(view, task.id, task.active.front())->next_state - 1;
}

}  // namespace

std::string_view slug(RequesterFraud fraud) noexcept {
    switch (fraud) {
        case RequesterFraud::none: return "honest";
        case RequesterFraud::withdraw: return "withdraw";
        case RequesterFraud::impossible: return "impossible";
        case RequesterFraud::no_upload: return "no_upload";
        case RequesterFraud::disappear: return "disappear";
        case RequesterFraud::burst: return "burst";
    }
    return "unknown";
}

RequesterParty::RequesterParty(World& world, NodeId id, std::string name, bool honest,
                               std::vector<PlannedTask> planned_tasks, std::size_t number)
    : Party(world, id, std::move(name), honest, kJustAllowed),
      planned_tasks_(std::move(planned_tasks)),
      number_(number) {}

market::TaskSpec RequesterParty::spec_of(const PlannedTask& planned) {
    market::TaskSpec spec;
    if (planned.group) {
        const GroupKind& kind = group_kind(planned.group->regions != 0, planned.group->masked);
        spec.name = "group";
        spec.program_root = kind.plan->root();
        spec.program_bytes = kind.plan_bytes.size();
        spec.init_root = kind.header.phases.front().program;
        if (!planned.group->is_private) spec.data_roots = kind.data_roots;
        spec.steps = std::uint64_t{kind.terms(*planned.group).rounds} + 1;
        spec.interval = 1;
    } else {
        const TaskKind& kind = world().catalogue[planned.kind];
        spec.name = kind.name;
        spec.program_root = kind.program->root();
        spec.program_bytes = kind.program_bytes.size();
        spec.init_root = kind.init->root();
        spec.data_roots = kind.data_roots;
        spec.steps = planned.steps;
        spec.interval = planned.interval;
    }
    spec.seed = planned.seed;
    spec.contract_hash = kernels::contract_hash();
    spec.price_ceiling = ledger::U256(10 * market::kMilli);
    spec.auctions = planned.auctions;
    if (planned.auctions > 1) spec.last_ceiling = spec.price_ceiling * ledger::U256(2);
    spec.audit_bp = planned.audit_bp;
    spec.auditors = planned.auditors;
    spec.allow_unaudited = planned.allow_unaudited || (planned.group && planned.group->is_private);
    spec.spot = planned.spot;
    spec.replicas = planned.group ? planned.group->members : planned.replicas;
    spec.replay_blocks = planned.replay_blocks;
    spec.finish_blocks = planned.finish_blocks;
    spec.checkpoint_blocks = planned.checkpoint_blocks;
    if (planned.fraud == RequesterFraud::impossible)
        spec.program_root = merkle::sha256(retrace::view(std::string_view("no program")));
    if (planned.fraud == RequesterFraud::no_upload)
        spec.data_roots.front() = merkle::sha256(retrace::view(std::string_view("no data")));
    return spec;
}

void RequesterParty::post(const PlannedTask& planned) {
    const market::TaskSpec spec = spec_of(planned);
    const auto escrow = market::escrow_of(spec, world().params);
    ensure(escrow.has_value(), "the simulation's prices are small");
    call("posts a task of " + world().catalogue[planned.kind].name + " (" + std::string(slug(planned.fraud)) + ")",
         contracts::PostTask{spec}, escrow->total());
    upload(planned, spec);
}

void RequesterParty::upload(const PlannedTask& planned, const market::TaskSpec& spec) {
    if (planned.fraud == RequesterFraud::no_upload) return;
    const TaskKind& kind = world().catalogue[planned.kind];
    world().uploads.programs[spec.program_root] =
        planned.fraud == RequesterFraud::impossible ? Bytes{1, 2, 3} : kind.program_bytes;
    world().uploads.programs[spec.init_root] = kind.init_bytes;
    for (std::size_t i = 0; i < kind.data.size(); ++i) world().uploads.tensors[kind.data_roots[i]] = kind.data[i];
}

bool RequesterParty::reserve(const ledger::StateView& view, std::uint64_t height, std::size_t index) {
    const PlannedTask& planned = planned_tasks_[index];
    const PlannedReservation& wanted = *planned.reserved;
    std::optional<market::Reservation> own;
    for (std::uint64_t id = 1; id <= views::reservation_count(view); ++id) {
        const auto one = views::reservation(view, id);
        if (one->requester == address() && one->from == wanted.from && one->until == wanted.until) own = one;
    }
    if (own && own->task == 0 && !market::holds_deposit(own->state)) return true;
    if (own && own->state == market::ReservationState::offered && height + 1 >= wanted.taken_back_at()) {
        const auto [sent, first] = withdrawn_.try_emplace(index, height);
        if (first || height >= sent->second + kAskBlocks)
            call("takes its offer back", contracts::WithdrawReservation{own->id});
        if (height >= sent->second + kAskBlocks) sent->second = height;
        return false;
    }
    const auto last = reserved_.find(index);
    if (last != reserved_.end() && height < last->second + kAskBlocks) return false;
    const market::TaskSpec spec = spec_of(planned);
    if (!own) {
        if (height + 1 >= wanted.from) return true;  // It came too late to offer.
        call("offers a reservation",
             contracts::Reserve{spec, party_address("solver" + std::to_string(wanted.solver)), spec.price_ceiling,
                                wanted.from, wanted.until},
             wanted.deposit);
        reserved_[index] = height;
    } else if (own->state == market::ReservationState::accepted && wanted.is_used && height + 1 >= wanted.from) {
        call("begins its reserved task", contracts::BeginReserved{own->id},
             market::escrow_of(spec, world().params)->total());
        upload(planned, spec);
        reserved_[index] = height;
    }
    return false;
}

void RequesterParty::post_group(const PlannedTask& planned) {
    const market::TaskSpec spec = spec_of(planned);
    const GroupKind& kind = group_kind(planned.group->regions != 0, planned.group->masked);
    call("posts a task of a group", contracts::PostGroup{spec, kind.terms(*planned.group)},
         market::escrow_of(spec, world().params)->total());
    world().uploads.programs[spec.program_root] = kind.plan_bytes;
    if (planned.group->is_private) return;
    for (std::size_t i = 0; i < kind.data.size(); ++i) world().uploads.tensors[kind.data_roots[i]] = kind.data[i];
}

void RequesterParty::admit(const ledger::StateView& view, std::uint64_t height, std::uint64_t id,
                           const PlannedGroup& group) {
    if (!group.is_private || !views::admitted(view, id).empty()) return;
    if (const auto last = admitted_.find(id); last != admitted_.end() && height < last->second + kAskBlocks) return;
    admitted_[id] = height;
    std::vector<ledger::Address> accounts;
    for (const std::string& name : group.admitted) accounts.push_back(party_address(name));
    std::sort(accounts.begin(), accounts.end());
    call("admits members", contracts::AdmitMembers{id, accounts});
}

bool RequesterParty::has_model_of_group(const ledger::StateView& view, const market::Task& task) {
    NetworkSource source(world(), id());
    for (const std::uint32_t index : task.active) {
        const std::uint64_t state = views::run(view, task.id, index)->next_state - 1;
        const auto last = views::checkpoint(view, task.id, index, state);
        const auto step = contracts::header_step_of(view, task.id, index, state);
        const auto terms = views::group_spec(view, task.id);
        const solver::CommittedPlan& plan = *group_kind(terms->regions != 0, terms->mask_bits != 0).plan;
        if (last && last->opened && step &&
            solver::fetch_state(source, plan.root(), plan.states(), last->root, *step, world().pool))
            return true;
    }
    return false;
}

bool RequesterParty::has_model(const ledger::StateView& view, const market::Task& task, const market::TaskSpec& spec) {
    NetworkSource source(world(), id());
    const TaskKind* kind = nullptr;
    for (const TaskKind& candidate : world().catalogue)
        if (candidate.program->root() == spec.program_root) kind = &candidate;
    if (kind == nullptr) return false;
    for (const std::uint32_t run : task.active) {
        const auto last = views::checkpoint(view, task.id, run, spec.segments());
        if (last && last->opened && solver::fetch_state(source, *kind->program, last->root, spec.steps, world().pool))
            return true;
    }
    return false;
}

void RequesterParty::raise(const ledger::StateView& view, const market::Task& task, const market::TaskSpec& spec,
                           std::uint8_t replicas) {
    const auto missing = static_cast<std::uint8_t>(replicas - task.active.size());
    const auto escrow = market::escrow_of_more(spec, world().params, views::joining_state(view, task).index, missing);
    call("wants " + std::to_string(replicas) + " replicas", contracts::RaiseReplicas{task.id, replicas},
         escrow.total());
}

void RequesterParty::top_up(const market::Task& task, const market::TaskSpec& spec) {
    const ledger::U256 ceiling = spec.price_ceiling * ledger::U256(2);
    const auto price = market::escrow_of_top_up(spec, world().params, task.first_state, ceiling);
    call("tops its task up", contracts::TopUpTask{task.id, ceiling, 2}, price.total());
}

/// Each report names another target, because a second report of the same target is refused.
void RequesterParty::report_burst(const market::Task& task, const market::TaskSpec& spec) {
    if (task.active.empty() || !reported_.insert(task.id).second) return;
    constexpr std::uint32_t kReports = 64, kTensors = 4;
    constexpr auto kModel = static_cast<std::uint8_t>(market::ReportKind::model);
    for (std::uint32_t i = 0; i < kReports; ++i)
        call("reports tile " + std::to_string(i),
             contracts::ReportUnavailable{kModel, task.id, task.active.front(), spec.segments(), i % kTensors,
                                          i / kTensors},
             world().params.report_fee, true);
}

void RequesterParty::follow(const ledger::StateView& view, std::uint64_t height, std::uint64_t id,
                            const PlannedTask& planned) {
    const auto task = views::task(view, id);
    const auto spec = world().immutable.spec(view, id);
    if (!task || !spec || task->requester != address()) return;
    if (planned.group && !market::is_final(task->state)) admit(view, height, id, *planned.group);
    if (height < tried_height_[id] + kAskBlocks) return;
    if (planned.fraud == RequesterFraud::withdraw && task->state == market::TaskState::bidding) {
        tried_height_[id] = height;
        // A third of the seeds spare the first auction, so that a successor's is cancelled too.
        if ((planned.seed + task->round) % 3 != 0) call("cancels its task", contracts::CancelTask{id});
        return;
    }
    if (planned.tops_up && task->state == market::TaskState::bidding && topped_up_.insert(id).second)
        top_up(*task, *spec);
    if (planned.raise_to > planned.replicas && task->state == market::TaskState::running && raised_.insert(id).second)
        raise(view, *task, *spec, planned.raise_to);
    if (planned.fraud == RequesterFraud::disappear || task->state != market::TaskState::delivering) return;
    tried_height_[id] = height;
    if (planned.fraud == RequesterFraud::burst) return report_burst(*task, *spec);
    const bool has = planned.group ? has_model_of_group(view, *task) : has_model(view, *task, *spec);
    if (has) {
        call("accepts the model", contracts::AcceptModel{id});
    } else if (!task->active.empty()) {
        constexpr auto kModel = static_cast<std::uint8_t>(market::ReportKind::model);
        call("reports the model as not served",
             contracts::ReportUnavailable{kModel, id, task->active.front(), last_state(view, *task, *spec), 0, 0},
             world().params.report_fee);
    }
}

void RequesterParty::act(const ledger::StateView& view, std::uint64_t height) {
    // Tasks are posted one at a time, so that they are numbered in the order of `planned_tasks_`.
    const std::size_t next = views::task_count(view);
    if (next < planned_tasks_.size() && planned_tasks_[next].requester == number_ &&
        height >= planned_tasks_[next].at_height && !posted_.contains(next) &&
        (!planned_tasks_[next].reserved || reserve(view, height, next))) {
        posted_.insert(next);
        planned_tasks_[next].group ? post_group(planned_tasks_[next]) : post(planned_tasks_[next]);
    }
    for (std::size_t index = 0; index < std::min(next, planned_tasks_.size()); ++index)
        if (planned_tasks_[index].requester == number_) follow(view, height, index + 1, planned_tasks_[index]);
}

}  // namespace retrace::sim
