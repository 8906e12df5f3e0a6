// SPDX-License-Identifier: MIT
#include "verifier/agent/agent.hpp"

#include <algorithm>

#include "verifier/agent/keys.hpp"

namespace retrace::verifier {
namespace {

using solver::CheckpointKey;

/// The states that an audit, a dispute, a watched segment or a promise to keep a state may still need.
std::set<CheckpointKey> needed_states(const VerifierView& view) {
    std::set<CheckpointKey> needed;
    const auto segment = [&](std::uint64_t task, std::uint32_t run, std::uint64_t start) {
        needed.insert({task, run, start});
        needed.insert(claimed_key(task, run, start));
        needed.insert({task, run, start + 1});
    };
    for (const AuditView& seat : view.audits) segment(seat.terms.id, seat.run, seat.segment);
    for (const DisputeView& play : view.disputes) segment(play.terms.id, play.run, play.segment);
    for (const KeepView& kept : view.keep) {
        needed.insert({kept.task, kept.run, kept.index});
        needed.insert(kept_key(kept.task, kept.run, kept.index));
    }
    for (const WatchView& seen : view.watch) needed.insert(claimed_key(seen.terms.id, seen.run, seen.segment));
    for (const OfferView& offer : view.offers) needed.insert(kept_key(offer.terms.id, offer.run, offer.index));
    return needed;
}

template <class Done>
VerifierWork as_verifier_work(solver::WorkOrder<Done> order) {
    return {std::move(order.what), [run = std::move(order.run)] { return VerifierResult(run()); }, order.fetch_by,
            std::move(order.gives_way)};
}

}  // namespace

VerifierAgent::VerifierAgent(VerifierConfig config, solver::TaskCache& task_cache,
                             solver::CheckpointStore& store)
    : context_(std::move(config), task_cache, store),
      dispute_replays_(task_cache,
            [this](const DisputeView& view) { return dispute_starts_.state_of(view); },
            context_.config.dispute_memory),
      disputes_(context_.config.resend_blocks, dispute_replays_, &context_.slot) {}

VerifierAgent::Output VerifierAgent::on_view(const VerifierView& view) {
    context_.height = view.height;
    context_.outbox.sweep(view.height);
    Output out;
    beacon_.on_view(view.beacon, out.moves);
    std::set<RunKey> runs;
    for (const AuditView& seat : view.audits) {
        const bool first = seat.may_commit && runs.insert({seat.terms.id, seat.run}).second;
        if (!own_root(seat)) report_missing(seat, first, out);
        audit(seat, out);
    }
    retention_.attest(view, out.moves);
    watch_.on_view(view, out.moves);
    retention_.answer_reports(view.reports, out.moves);
    dispute_starts_.report_missing(view.disputes, out.moves);
    // Done before any new work, including that of disputes: a busy party would otherwise never delete a state.
    if (context_.slot.is_free()) clean_up(view);
    const std::optional<AnyDuty> duty = first_duty(view);
    DisputeAgent::Output played =
        disputes_.on_view(view.height, view.disputes, duty ? duty->place : solver::kUnasked);
    for (PlayMove& move : played.moves) out.moves.push_back(std::move(move));
    if (played.work) {
        played.work->fetch_by = context_.side_fetch_by();
        out.work = as_verifier_work(std::move(*played.work));
    } else if (context_.slot.is_free()) {
        if (duty) out.work = order_for(view, *duty);
        else out.work = unasked_work(view);
        if (out.work) {
            context_.slot.take(duty ? duty->place : solver::kUnasked);
            context_.slot.equip(*out.work);
        }
    } else {
        if (duty) context_.slot.wait(duty->place);
        // A result that comes too late is useless, so the order must not hold the worker.
        if (wanted_ && !wanted_(view)) context_.slot.preemption().request();
    }
    return out;
}

std::optional<VerifierAgent::AnyDuty> VerifierAgent::first_duty(const VerifierView& view) const {
    std::optional<AnyDuty> first;
    const auto add = [&](const auto& duty) {
        if (duty && (!first || duty->place < first->place)) first = AnyDuty{duty->place, duty->item};
    };
    // The first of two duties with the same place wins, so the kinds are in ascending order of duration.
    add(retention_.first_duty(view));
    add(earliest_duty(view.audits, [&](const AuditView& seat) {
        return seat.id != replaying_ && waits_for_material(seat);
    }));
    add(watch_.first_duty(view));
    return first;
}

/// Remembers when the order's result is no longer needed.
template <class Done>
VerifierWork VerifierAgent::hand_out(AgentOrder<Done> order) {
    wanted_ = std::move(order.is_wanted);
    return as_verifier_work(std::move(order.work));
}

VerifierWork VerifierAgent::order_for(const VerifierView& view, const AnyDuty& duty) {
    if (const auto* report = std::get_if<const KeptReportView*>(&duty.item))
        return hand_out(retention_.answer_order(view, **report));
    if (const auto* initial = std::get_if<const InitialView*>(&duty.item))
        return hand_out(watch_.check_order(**initial));
    return audit_work(view, *std::get<const AuditView*>(duty.item));
}

void VerifierAgent::on_done(const VerifierResult& result) {
    replaying_ = 0;
    wanted_ = nullptr;
    context_.slot.release();
    if (const auto* answer = std::get_if<Answer>(&result)) return disputes_.on_done(*answer);
    if (const auto* replayed = std::get_if<Replayed>(&result)) return on_replayed(*replayed);
    if (const auto* made = std::get_if<KeptAnswer>(&result)) return retention_.on_done(*made);
    if (const auto* held = std::get_if<Held>(&result)) return retention_.on_done(*held);
    if (const auto* checked = std::get_if<InitialChecked>(&result)) return watch_.on_done(*checked);
    if (const auto* seen = std::get_if<Watched>(&result)) return watch_.on_done(*seen);
}

/// Chooses work that the ledger did not ask for.
std::optional<VerifierWork> VerifierAgent::unasked_work(const VerifierView& view) {
    if (auto check = watch_.unasked_check_order(view)) return hand_out(std::move(*check));
    if (auto replay = watch_.watch_order(view)) return hand_out(std::move(*replay));
    if (auto kept = retention_.keep_order(view)) return hand_out(std::move(*kept));
    return std::nullopt;
}

void VerifierAgent::on_replayed(const Replayed& replayed) {
    if (replayed.put_off) return;
    missing_.erase(replayed.audit);
    const std::string name = "audit " + std::to_string(replayed.audit) + ": ";
    if (!replayed.problem.empty()) context_.problems.push_back(name + replayed.problem);
    if (replayed.root) return;
    retry_height_[replayed.audit] = context_.height + context_.config.resend_blocks;
    if (replayed.missing && replayed.missing->kind) missing_[replayed.audit] = *replayed.missing;
}

std::vector<std::string> VerifierAgent::take_problems() {
    std::vector<std::string> problems = std::exchange(context_.problems, {});
    for (std::string& problem : disputes_.take_problems()) problems.push_back(std::move(problem));
    return problems;
}

std::optional<Hash32> VerifierAgent::own_root(const AuditView& view) const {
    const auto commitment = context_.store.commitment({view.terms.id, view.run, view.segment + 1});
    if (!commitment) return std::nullopt;
    return commitment->root;
}

void VerifierAgent::report_missing(const AuditView& view, bool first, Output& out) {
    const auto missing = missing_.find(view.id);
    if (missing == missing_.end() || !view.may_report) return;
    // A retry is running and still has time: an honest solver on a slow connection gets this time.
    if (replaying_ == view.id && context_.height < view.fetch_by) return;
    if (!context_.due("report " + std::to_string(view.id))) return;
    const solver::Unavailable& what = missing->second;
    ReportUnavailable report{*what.kind, view.terms.id, view.run, what.index, what.tensor, what.tile};
    // The ledger counts a report about a program or a data set for the first of a party's audits of a run, and pauses
    // the deadline of that audit. Each other audit reports its start state, which it needs as well, to pause its own
    // deadline.
    const bool of_state = what.kind == solver::ReportKind::state;
    if (!of_state && !first) report = {solver::ReportKind::state, view.terms.id, view.run, view.segment, 0, 0};
    if (of_state) report.index = view.segment;
    out.moves.emplace_back(report);
}

void VerifierAgent::audit(const AuditView& view, Output& out) {
    const std::string id = std::to_string(view.id);
    const std::optional<Hash32> root = own_root(view);
    if (!root) return;
    if (view.may_commit && context_.due("commit " + id)) {
        const Hash32 salt = solver::verdict_salt(context_.config.secret, view.id);
        out.moves.emplace_back(
            CommitVerdict{view.id, solver::verdict_commitment(*root, salt, context_.config.address, view.id)});
    }
    if (view.may_reveal) reveal(view, *root, out);
}

void VerifierAgent::reveal(const AuditView& view, const Hash32& root, Output& out) {
    const Hash32 salt = solver::verdict_salt(context_.config.secret, view.id);
    if (solver::verdict_commitment(root, salt, context_.config.address, view.id) != view.commitment) return;
    // An accusing verdict is revealed as well: there is no time for another replay. The second replay is made in the
    // dispute (8.2).
    if (context_.due("reveal " + std::to_string(view.id)))
        out.moves.emplace_back(RevealVerdict{view.id, root, salt});
}

bool VerifierAgent::waits_for_material(const AuditView& seat) const {
    const auto retry = retry_height_.find(seat.id);
    if (retry != retry_height_.end() && context_.height < retry->second) return false;
    return !own_root(seat) && !seat.start_root.is_zero() && (seat.may_commit || seat.may_reveal);
}

/// Waiting seats share the remaining time, so that a seat whose peers deliver nothing takes no time from another.
std::uint64_t VerifierAgent::fetch_by(const VerifierView& view, const AuditView& seat) const {
    if (seat.fetch_by <= context_.height) return seat.fetch_by;
    const auto waiting = std::count_if(view.audits.begin(), view.audits.end(),
                                       [&](const AuditView& other) { return waits_for_material(other); });
    const std::uint64_t share = (seat.fetch_by - context_.height) / std::max<std::uint64_t>(waiting, 1);
    return context_.height + std::max<std::uint64_t>(share, 1);
}

VerifierWork VerifierAgent::audit_work(const VerifierView& view, const AuditView& seat) {
    const std::string name = "task " + std::to_string(seat.terms.id) + " segment " + std::to_string(seat.segment);
    replaying_ = seat.id;
    wanted_ = [id = seat.id](const VerifierView& now) {
        return std::any_of(now.audits.begin(), now.audits.end(), [&](const AuditView& other) {
            return other.id == id && (other.may_commit || other.may_reveal);
        });
    };
    Replayed blank;
    blank.audit = seat.id;
    return solver::make_order<VerifierResult>(
        "replay " + name, blank, [this, seat] { return VerifierResult(replay(seat)); }, fetch_by(view, seat));
}

void VerifierAgent::clean_up(const VerifierView& view) {
    const std::set<CheckpointKey> needed = needed_states(view);
    const auto is_seat = [&](std::uint64_t audit) {
        return std::any_of(view.audits.begin(), view.audits.end(),
                           [&](const AuditView& seat) { return seat.id == audit; });
    };
    std::erase_if(retry_height_, [&](const auto& item) { return !is_seat(item.first); });
    std::erase_if(missing_, [&](const auto& item) { return !is_seat(item.first); });
    // A suspended replay holds a whole state; it is dropped with its audit or watched segment.
    replays_.forget_closed(view);
    for (const CheckpointKey& key : context_.store.retained()) {
        if (needed.count(key) != 0) continue;
        // On failure a file stays behind; the next view retries.
        if (context_.store.retain(key, false)) (void)context_.store.prune(key.task, key.run, 0);
    }
    if (view.reports.empty()) context_.task_cache.answers().clear();
    std::set<RunKey> runs;
    for (const CheckpointKey& key : needed) runs.insert({key.task, key.run});
    for (const RunKey& run : context_.store.runs())
        if (runs.count(run) == 0) (void)context_.store.forget(run.first, run.second);
}

Replayed VerifierAgent::replay(const AuditView& view) {
    Replayed done;
    done.audit = view.id;
    // A fetch that was cut short by preemption is no reason to report its peers.
    const auto fail = [&](const solver::Unavailable& missing) {
        done.put_off = context_.gives_way();
        done.problem = missing.message;
        done.missing = missing;
        return done;
    };
    const auto material = context_.task_cache.material(view.terms);
    if (!material) return fail(material.error());
    solver::TaskMaterial& task = **material;
    auto begun = replays_.begin(task, {view.terms.id, view.run, view.segment}, view.start_root);
    if (!begun) return fail(begun.error());
    if (!replays_.run_to(task, *begun, view.terms.schedule.step_of(view.segment + 1))) {
        done.put_off = true;
        return done;
    }
    const kernels::StateCommitment end =
        kernels::commit_state(task.program->root(), begun->state, context_.task_cache.pool());
    const CheckpointKey key{view.terms.id, view.run, view.segment + 1};
    auto saved = context_.store.save(key, end, begun->state);
    if (saved) saved = context_.store.retain(key, true);
    if (saved)
        done.root = end.root;
    else
        done.problem = saved.error().message;
    return done;
}

}  // namespace retrace::verifier
