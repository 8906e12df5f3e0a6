// SPDX-License-Identifier: MIT
#include "tests/stateful/checks.hpp"

#include "contracts/records/store.hpp"
#include "market/odds.hpp"

namespace retrace::stateful {
namespace {

using contracts::ScheduledItem;
using contracts::ScheduledKind;
using market::AuditPhase;
using market::RunState;
using market::SegmentState;
using market::TaskState;

std::string at(std::string_view what, std::uint64_t id, std::uint64_t run = ~std::uint64_t{0}) {
    return std::string(what) + " (" + std::to_string(id) +
           (run == ~std::uint64_t{0} ? "" : ", run " + std::to_string(run)) + ")";
}

/// Scheduled items that no block has handled yet.
class Pending {
public:
    explicit Pending(const Mirror& mirror) : mirror_(mirror) {
        for (const auto& [place, items] : mirror.scheduler)
            for (std::size_t i = 0; i < items.size(); ++i) {
                const bool handled = mirror.cursor && place.first == mirror.cursor->first &&
                                     place.second * contracts::kDuePage + i < mirror.cursor->second;
                if (!handled) items_.insert(key(items[i].kind, items[i].id, items[i].run, items[i].index));
            }
    }
    bool has(ScheduledKind kind, std::uint64_t id, std::uint64_t run = 0, std::uint64_t index = 0) const {
        return items_.contains(key(kind, id, run, index));
    }
    /// Whether an item looks at the state soon: one of the run, or of all runs of the task, which names run 0.
    bool wakes(std::uint64_t task, std::uint32_t run, std::uint64_t state) const {
        for (std::uint64_t from = 0; from <= state; ++from)
            if (has(ScheduledKind::wake, task, 0, from) || has(ScheduledKind::wake, task, run, from)) return true;
        return false;
    }
    /// While more of the challenges that a solver takes part in are open than contracts 18.6 allows, the windows of its
    /// runs have no end; the end of such a challenge schedules the item.
    bool plays_challenge(const Address& party) const {
        return std::any_of(mirror_.open_disputes.begin(), mirror_.open_disputes.end(), [&](std::uint64_t id) {
            const market::Dispute& dispute = mirror_.disputes.at(id - 1);
            const bool at_will =
                dispute.kind == market::DisputeKind::challenge || dispute.kind == market::DisputeKind::initial;
            return at_will && (dispute.solver == party || dispute.challenger == party);
        });
    }
    /// For kinds with only one valid scheduled item: whether it is scheduled at the height that its record names.
    bool has_single(ScheduledKind kind, std::uint64_t id, std::uint32_t run) const {
        const auto known = mirror_.scheduled_heights.find(
            contracts::keys::scheduled_height(static_cast<std::uint8_t>(kind), id, run).bytes);
        return known != mirror_.scheduled_heights.end() && has(kind, id, run, known->second);
    }

private:
    using Key = std::array<std::uint64_t, 4>;
    static Key key(ScheduledKind kind, std::uint64_t id, std::uint64_t run, std::uint64_t index) {
        return {static_cast<std::uint64_t>(kind), id, run, index};
    }
    const Mirror& mirror_;
    std::set<Key> items_;
};

bool is_running(const RunModel& model) { return model.run.state == RunState::running; }

/// Whether another run of the task still has to commit, open or be audited up to `index`, so that this one waits for
/// it.
bool others_owe(const TaskModel& task, std::uint32_t run, std::uint64_t index) {
    if (task.group) return false;  // Its members have states of their own.
    for (const std::uint32_t active : task.task.active) {
        if (active == run) continue;
        const RunModel& other = task.runs[active];
        if (other.run.state == RunState::assigned || other.run.next_state <= index) return true;
        const auto state = other.states.find(index);
        if (state != other.states.end() && !state->second.opened) return true;
        const auto segment = index == 0 ? other.segments.end() : other.segments.find(index - 1);
        if (segment != other.segments.end() &&
            (segment->second.state == SegmentState::waiting_draw || segment->second.state == SegmentState::auditing))
            return true;
    }
    return false;
}

/// Explains why a run that owes no checkpoint is neither paid nor over.
std::optional<std::string> stuck_run(const TaskModel& task, const RunModel& model, const Pending& pending) {
    const market::Run& run = model.run;
    if (run.unaudited_since != 0)  // Until the requester decides, or auditors are available.
        return pending.has_single(ScheduledKind::unaudited, run.task, run.index)
                   ? std::nullopt
                   : std::optional(at("a run whose audits wait for auditors is looked at again", run.task, run.index));
    const auto found = model.segments.find(run.finalised);
    if (found == model.segments.end())
        return std::nullopt;  // The run waits for its own next state, which has a deadline.
    const market::Segment& segment = found->second;
    if (segment.state == SegmentState::waiting_draw)
        return pending.has(ScheduledKind::draw, run.task, run.index, run.finalised)
                   ? std::nullopt
                   : std::optional(at("a segment that waits for its draw has one scheduled", run.task, run.index));
    if (segment.state == SegmentState::auditing || segment.open_disputes != 0)
        return std::nullopt;  // Audits are checked separately.
    if (segment.window_end != 0)
        return pending.has_single(ScheduledKind::payment, run.task, 0) || run.open_disputes != 0 ||
                       others_owe(task, run.index, run.finalised + 1) || task.task.active.size() > 1 || task.group ||
                       pending.plays_challenge(run.solver)
                   ? std::nullopt
                   : std::optional(at("a window that ends has a scheduled item of the payment", run.task, run.index));
    for (const std::uint64_t index : {run.finalised, run.finalised + 1}) {
        const auto state = model.states.find(index);
        if (state == model.states.end() || state->second.opened) continue;
        if (state->second.open_deadline != 0) {
            if (!pending.has(ScheduledKind::open_deadline, run.task, run.index, index))
                return at("a state that is to be opened has its deadline scheduled", run.task, run.index);
        } else if (!others_owe(task, run.index, index)) {
            const auto before = index == 0 ? model.segments.end() : model.segments.find(index - 1);
            const bool blind = before != model.segments.end() && (before->second.state == SegmentState::auditing ||
                                                                  before->second.state == SegmentState::waiting_draw);
            if (!blind && pending.wakes(run.task, run.index, index)) return std::nullopt;
            if (!blind) {
                std::string where = "task " + std::to_string(run.task) + ", run " + std::to_string(run.index) +
                                    ", state " + std::to_string(index) + " of " + std::to_string(run.next_state) +
                                    ", clear " + std::to_string(run.finalised);
                for (const auto& [i, record] : model.segments)
                    where += ", segment " + std::to_string(i) + ": " + std::string(market::slug(record.state));
                return "a state that nobody waits for is to be opened by a deadline (" + where + ")";
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> unscheduled_run(const TaskModel& task, const RunModel& model, const Pending& pending) {
    const market::Run& run = model.run;
    if (run.state == RunState::assigned)
        return pending.has_single(ScheduledKind::accept_deadline, run.task, run.index)
                   ? std::nullopt
                   : std::optional(at("an assigned run has to be accepted by a deadline", run.task, run.index));
    if (!is_running(model)) return std::nullopt;
    if (run.deadline != 0)
        return pending.has_single(ScheduledKind::checkpoint_deadline, run.task, run.index)
                   ? std::nullopt
                   : std::optional(at("a checkpoint is due by a deadline scheduled", run.task, run.index));
    return stuck_run(task, model, pending);
}

/// The phases of an open round end by themselves.
std::optional<std::string> unscheduled_group(const TaskModel& model, const Pending& pending) {
    const market::GroupPhase phase = model.group->phase;
    if (phase == market::GroupPhase::starting || phase == market::GroupPhase::over) return std::nullopt;
    if (pending.has_single(ScheduledKind::group_clock, model.task.id, 0)) return std::nullopt;
    return at("an open round has its clock scheduled", model.task.id);
}

std::optional<std::string> unscheduled_task(const TaskModel& model, const Pending& pending) {
    const market::Task& task = model.task;
    if (model.group && task.state == TaskState::running)
        if (auto broken = unscheduled_group(model, pending)) return broken;
    const bool auction = task.state == TaskState::bidding || (task.state == TaskState::running && task.wanted != 0);
    if (auction && !pending.has(ScheduledKind::auction_close, task.id, task.round))
        return at("an auction has its end scheduled", task.id);
    if (task.state == TaskState::delivering && !pending.has(ScheduledKind::deliver_deadline, task.id))
        return at("a delivery has its end scheduled", task.id);
    if ((task.state == TaskState::assigned || task.state == TaskState::running) && task.active.empty())
        return at("a task that is assigned or runs has a run", task.id);
    for (const std::uint32_t active : task.active)
        if (auto broken = unscheduled_run(model, model.runs[active], pending)) return broken;
    return std::nullopt;
}

/// Whether the audit is held for an audited segment of its run before it that is not finalised (contracts 14.13).
bool is_held(const Mirror& mirror, const market::Audit& audit) {
    const auto held = mirror.held_audits.find({audit.task, audit.run});
    if (held == mirror.held_audits.end()) return false;
    if (std::find(held->second.begin(), held->second.end(), audit.segment) == held->second.end()) return false;
    const RunModel& model = mirror.tasks[audit.task - 1].runs[audit.run];
    for (auto it = model.segments.lower_bound(model.run.finalised); it != model.segments.end(); ++it)
        if (it->first < audit.segment && it->second.audits != 0) return true;
    return false;
}

std::optional<std::string> unscheduled_audit(const Mirror& mirror, const market::Audit& audit, const Pending& pending) {
    if (audit.phase == AuditPhase::drawing) {
        if (pending.has(ScheduledKind::redraw, audit.id)) return std::nullopt;
        for (const auto& [place, queued] : mirror.queue)
            if (queued == audit.id) return std::nullopt;
        if (is_held(mirror, audit)) return std::nullopt;
        return at("an audit that draws is scheduled, in the queue or held", audit.id);
    }
    if (audit.deadline != 0)
        return pending.has_single(ScheduledKind::audit_deadline, audit.id, 0)
                   ? std::nullopt
                   : std::optional(at("an audit's deadline is scheduled", audit.id));
    if (audit.phase == AuditPhase::no_auditors)
        return pending.has_single(ScheduledKind::unaudited, audit.task, audit.run)
                   ? std::nullopt
                   : std::optional(at("an audit that waits for auditors is looked at again", audit.id));
    // 14.4: the waiting and revealing phases have no deadline while another segment or replica is still blind.
    const TaskModel& task = mirror.tasks[audit.task - 1];
    const std::uint64_t state = audit.phase == AuditPhase::waiting ? audit.segment : audit.segment + 1;
    if (others_owe(task, audit.run, state)) return std::nullopt;
    const RunModel& run = task.runs[audit.run];
    if (run.run.unaudited_since != 0) return std::nullopt;  // 14.12.2: the state is withheld.
    const auto before = audit.segment == 0 ? run.segments.end() : run.segments.find(audit.segment - 1);
    if (audit.phase == AuditPhase::waiting && before != run.segments.end() &&
        (before->second.state == SegmentState::auditing || before->second.state == SegmentState::waiting_draw))
        return std::nullopt;
    if (pending.wakes(audit.task, audit.run, state)) return std::nullopt;
    return at("an audit without a deadline waits for somebody", audit.id) + ": task " + std::to_string(audit.task) +
           (task.group ? ", a group" : "") + ", run " + std::to_string(audit.run) + ", segment " +
           std::to_string(audit.segment) + ", " + std::string(market::slug(audit.phase));
}

/// Whether more segments have auditors and are not finalised than the lock covers, except the first (contracts 14.13).
bool has_fees_uncovered(const Mirror& mirror, const TaskModel& task, const RunModel& model,
                        const market::Params& params) {
    const market::Run& run = model.run;
    if (!is_running(model) || mirror.stopped.contains({run.task, run.index})) return false;
    std::uint64_t at_risk = 0;
    for (auto it = model.segments.lower_bound(run.finalised); it != model.segments.end(); ++it)
        at_risk += it->second.audit != 0 && !mirror.audits[it->second.audit - 1].seats.empty();
    // The first of a member may be audited because of a contradiction, beside those that the lock covers (21.8.9).
    if (task.group && at_risk != 0) --at_risk;
    return at_risk > std::max<std::uint64_t>(1, market::audits_covered(params, task.spec, run.locked));
}

/// The masks of an open round (contracts 21.11), and what is left of closed ones (21.6.8).
std::optional<std::string> broken_masks(const TaskModel& model) {
    if (!model.group) return std::nullopt;
    const std::uint64_t task = model.task.id;
    const auto masks = model.masks.find(model.group->round);
    for (const auto& posted : {model.member_masks, model.holdings})
        for (const auto& [round, run] : posted)
            if (round != model.group->round)
                return at("what members posted is removed when the round closes", task, run);
    if (model.masks.size() > 1 || (model.masks.size() == 1 && masks == model.masks.end()))
        return at("the masks of a round are removed when it closes", task);
    if (masks == model.masks.end()) return std::nullopt;
    const auto& [step, cohort] = std::tie(masks->second.step, masks->second.cohort);
    if (cohort.size() > model.spec.replicas) return at("a cohort is no larger than the group", task);
    if (model.member_masks.size() != cohort.size()) return at("the cohort is who posted keys", task);
    if (step == market::MaskStep::open || step == market::MaskStep::lost) return std::nullopt;
    for (const std::uint32_t run : masks->second.dealt)
        if (model.runs[run].run.state == RunState::left)
            return at("who dealt shares does not end with its lock before the masks are open or lost", task, run);
    return std::nullopt;
}

}  // namespace

std::optional<std::string> without_schedule(const Mirror& mirror, std::uint64_t height) {
    const Pending pending(mirror);
    if (!mirror.scheduler.empty() && mirror.scheduler.begin()->first.first <= height && !mirror.cursor)
        return "every scheduled item lies in the future, unless the scheduler is behind (height " +
               std::to_string(mirror.scheduler.begin()->first.first) + ")";
    for (const std::uint64_t id : mirror.active_tasks)
        if (auto broken = unscheduled_task(mirror.tasks[id - 1], pending)) return broken;
    for (const std::uint64_t id : mirror.open_audits)
        if (auto broken = unscheduled_audit(mirror, mirror.audits[id - 1], pending)) return broken;
    for (const std::uint64_t id : mirror.open_disputes)
        if (!pending.has_single(ScheduledKind::dispute_clock, id, 0)) return at("a dispute's clock is scheduled", id);
    for (const std::uint64_t id : mirror.open_reports)
        if (!pending.has(ScheduledKind::report_deadline, id)) return at("a report's deadline is scheduled", id);
    for (const auto& [id, challenge] : mirror.challenges)
        if (market::is_open(challenge.state) && !pending.has(ScheduledKind::challenge, id))
            return at("a capability challenge is scheduled", id);
    for (const market::Reservation& one : mirror.reservations)
        if (one.state == market::ReservationState::accepted && !pending.has(ScheduledKind::reservation, one.id))
            return at("the end of an accepted reservation is scheduled", one.id);
    return std::nullopt;
}

std::optional<std::string> over_bound(const Mirror& mirror, const market::Params& params) {
    std::map<Address, std::size_t> runs;
    for (const std::uint64_t id : mirror.active_tasks) {
        const TaskModel& model = mirror.tasks[id - 1];
        if (model.task.bidders.size() > (model.group ? market::kGroupBiddersMax : market::kBiddersMax))
            return at("an auction has at most 64 bids, that of a group 512", id);
        if (auto broken = broken_masks(model)) return broken;
        if (model.task.active.size() > (model.group ? market::kMembersMax : market::kReplicasMax))
            return at("a task has at most five replicas, a group 255 members", id);
        for (const std::uint32_t active : model.task.active) {
            ++runs[model.runs[active].run.solver];
            if (has_fees_uncovered(mirror, model, model.runs[active], params))
                return at("a run's lock covers the fees of its audits", id, active);
        }
        for (const Address& bidder : model.task.bidders) ++runs[bidder];
    }
    for (const market::Reservation& one : mirror.reservations)
        if (one.state == market::ReservationState::accepted) ++runs[one.solver];
    for (const auto& [who, count] : runs)
        if (count > market::kOpenItemsMax)
            return "a solver has at most 256 bids, runs and accepted reservations that are not over (" +
                   std::to_string(count) + ")";
    for (const auto& [who, stake] : mirror.stakes)
        if (stake.locked > stake.bonded) return "no more stake is locked than bonded";
    if (mirror.reached.longest_list > market::kRecordListMax)
        return "a list fits into its record (" + std::to_string(mirror.reached.longest_list) + ")";
    return std::nullopt;
}

std::optional<std::string> still_open(const Mirror& mirror, const market::Params& params, std::uint64_t height) {
    if (!mirror.active_tasks.empty()) {
        const TaskModel& model = mirror.tasks[*mirror.active_tasks.begin() - 1];
        return at("every task ends by itself, not in " + std::string(market::slug(model.task.state)), model.task.id);
    }
    if (!mirror.open_audits.empty()) return at("every audit ends by itself", *mirror.open_audits.begin());
    if (!mirror.open_disputes.empty()) return at("every dispute ends by itself", *mirror.open_disputes.begin());
    if (!mirror.open_reports.empty()) return at("every report ends by itself", *mirror.open_reports.begin());
    if (!mirror.open_retentions.empty()) return at("every offer ends by itself", *mirror.open_retentions.begin());
    for (const TaskModel& model : mirror.tasks)
        if (!model.masks.empty() || !model.member_masks.empty() || !model.holdings.empty())
            return at("a group that has ended has no open round", model.task.id);
    for (const market::Reservation& one : mirror.reservations)
        if (one.state == market::ReservationState::accepted || one.state == market::ReservationState::begun)
            return at("every reservation that is accepted ends by itself", one.id);
    const std::uint64_t windows = 5 * params.epoch_blocks + params.capability_blocks + params.answer_blocks + 1;
    for (const auto& [id, challenge] : mirror.challenges)
        if (market::is_open(challenge.state) && !mirror.cursor && challenge.opened_height + windows < height)
            return at("every capability challenge ends by itself", id);
    for (const auto& [who, stake] : mirror.stakes) {
        const auto validator = mirror.validators.find(who);  // Its stake stays until its owner takes it back.
        const U256 voting =
            validator == mirror.validators.end() ? U256() : validator->second.stake + validator->second.leaving;
        if (stake.locked != voting) return "no stake stays locked when nothing is open";
    }
    return std::nullopt;
}

}  // namespace retrace::stateful
