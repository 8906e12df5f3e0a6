// SPDX-License-Identifier: MIT
#include "verifier/agent/agent.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

/// By task: the first round whose messages a segment may still need.
std::map<std::uint64_t, std::uint32_t> needed_rounds(const VerifierView& view) {
    std::map<std::uint64_t, std::uint32_t> needed;
    const auto need = [&](std::uint64_t task, std::uint64_t round) {
        const auto from = static_cast<std::uint32_t>(round);
        const auto found = needed.try_emplace(task, from).first;
        found->second = std::min(found->second, from);
    };
    const auto segment = [&](const solver::TaskTerms& terms, const std::optional<solver::SegmentView>& member) {
        // The messages of a record may have begun max_age rounds before it.
        if (member)
            need(terms.id, member->span.from - std::min<std::uint64_t>(member->span.from, terms.group->max_age));
    };
    for (const AuditView& seat : view.audits) segment(seat.terms, seat.member);
    for (const DisputeView& play : view.disputes) segment(play.terms, play.member);
    for (const WatchView& seen : view.watch) segment(seen.terms, seen.member);
    for (const InitialView& initial : view.initials)
        if (initial.entry) need(initial.terms.id, initial.entry->base);
    for (const DisputeView& play : view.disputes)
        if (play.entry) need(play.terms.id, play.entry->base);
    return needed;
}

template <class Done>
VerifierWork as_verifier_work(solver::WorkOrder<Done> order) {
    return {std::move(order.what), [run = std::move(order.run)] { return VerifierResult(run()); }, order.fetch_by,
            std::move(order.stop), order.fetches_of};
}

}  // namespace

VerifierAgent::VerifierAgent(VerifierConfig config, solver::TaskCache& task_cache, solver::CheckpointStore& store)
    : context_(std::move(config), task_cache, store),
      dispute_replays_(
          task_cache, [this](const DisputeView& view) { return dispute_starts_.state_of(view); },
          context_.config.messages, context_.config.dispute_memory),
      disputes_(context_.config.resend_blocks, dispute_replays_, &context_.slot) {}

VerifierAgent::Output VerifierAgent::on_view(const VerifierView& view) {
    context_.height = view.height;
    context_.outbox.sweep(view.height);
    Output out;
    beacon_.on_view(view.beacon, out.moves);
    audits_.on_view(view, out.moves);
    retention_.attest(view, out.moves);
    watch_.on_view(view, out.moves);
    retention_.answer_reports(view.reports, out.moves);
    dispute_starts_.report_missing(view.disputes, out.moves);
    // Done before any new work, including that of disputes: a busy party would otherwise never delete a state.
    if (context_.slot.is_free()) clean_up(view);
    const std::optional<AnyDuty> duty = first_duty(view);
    DisputeAgent::Output played =
        disputes_.on_view(view.height, view.disputes, duty ? duty->place : solver::kVoluntary);
    for (PlayMove& move : played.moves) out.moves.push_back(std::move(move));
    if (played.work) {
        played.work->fetch_by = context_.no_deadline_fetch_by();
        out.work = as_verifier_work(std::move(*played.work));
    } else if (context_.slot.is_free()) {
        if (duty)
            out.work = order_for(view, *duty);
        else
            out.work = voluntary_work(view);
        if (out.work) {
            context_.slot.take(duty ? duty->place : solver::kVoluntary);
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
    add(audits_.first_duty(view));
    add(watch_.first_duty(view));
    return first;
}

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
    return hand_out(audits_.replay_order(view, *std::get<const AuditView*>(duty.item)));
}

void VerifierAgent::on_done(const VerifierResult& result) {
    wanted_ = nullptr;
    context_.slot.release();
    if (const auto* answer = std::get_if<Answer>(&result)) return disputes_.on_done(*answer);
    if (const auto* replayed = std::get_if<Replayed>(&result)) return audits_.on_done(*replayed);
    if (const auto* made = std::get_if<KeptAnswer>(&result)) return retention_.on_done(*made);
    if (const auto* held = std::get_if<Held>(&result)) return retention_.on_done(*held);
    if (const auto* checked = std::get_if<InitialChecked>(&result)) return watch_.on_done(*checked);
    if (const auto* seen = std::get_if<Watched>(&result)) return watch_.on_done(*seen);
}

std::optional<VerifierWork> VerifierAgent::voluntary_work(const VerifierView& view) {
    if (auto check = watch_.voluntary_check_order(view)) return hand_out(std::move(*check));
    if (auto replay = watch_.watch_order(view)) return hand_out(std::move(*replay));
    if (auto kept = retention_.keep_order(view)) return hand_out(std::move(*kept));
    return std::nullopt;
}

std::vector<std::string> VerifierAgent::take_problems() {
    std::vector<std::string> problems = std::exchange(context_.problems, {});
    for (std::string& problem : disputes_.take_problems()) problems.push_back(std::move(problem));
    return problems;
}

void VerifierAgent::clean_up(const VerifierView& view) {
    using RunKey = std::pair<std::uint64_t, std::uint32_t>;
    std::set<CheckpointKey> needed = needed_states(view);
    audits_.forget_closed(view);
    // A suspended replay holds a whole state; it is dropped with its audit or watched segment.
    replays_.forget_closed(view);
    replays_.add_needed(needed);
    for (const CheckpointKey& key : context_.store.retained()) {
        if (needed.count(key) != 0) continue;
        // On failure a file stays behind; the next view retries.
        if (context_.store.retain(key, false)) (void)context_.store.prune(key.task, key.run, 0);
    }
    replays_.inputs().keep_from(needed_rounds(view));
    if (view.reports.empty()) context_.task_cache.answers().clear();
    std::set<RunKey> runs;
    for (const CheckpointKey& key : needed) runs.insert({key.task, key.run});
    for (const RunKey& run : context_.store.runs())
        if (runs.count(run) == 0) (void)context_.store.forget(run.first, run.second);
}

}  // namespace retrace::verifier
