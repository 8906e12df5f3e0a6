// SPDX-License-Identifier: MIT
#include "verifier/agent/retention_agent.hpp"

#include <algorithm>
#include <set>

#include "solver/artifacts/availability.hpp"
#include "verifier/agent/keys.hpp"

namespace retrace::verifier {
namespace {

using solver::CheckpointKey;

std::string answer_name(std::uint64_t report) { return "answer report " + std::to_string(report); }

std::string keep_name(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return "keep " + key_text(task, run, index);
}

}  // namespace

void RetentionAgent::attest(const VerifierView& view, std::vector<VerifierMove>& moves) {
    const auto attest = [&](const CheckpointKey& stored, std::uint32_t run) {
        if (context_.store.newest(stored.task, stored.run, stored.index) != stored) return;
        if (context_.due("attest " + key_text(stored.task, run, stored.index)))
            moves.emplace_back(AttestRetention{stored.task, run, stored.index});
    };
    for (const KeepView& kept : view.keep)
        if (kept.may_attest) attest({kept.task, kept.run, kept.index}, kept.run);
    for (const OfferView& offer : view.offers) attest(kept_key(offer.terms.id, offer.run, offer.index), offer.run);
}

void RetentionAgent::answer_reports(const std::vector<KeptReportView>& reports, std::vector<VerifierMove>& moves) {
    for (const KeptReportView& report : reports) {
        const auto made = answers_.find(report.id);
        if (made == answers_.end()) continue;
        if (context_.due("answer " + std::to_string(report.id)))
            moves.emplace_back(AnswerReport{report.id, made->second});
    }
    std::erase_if(answers_, [&](const auto& item) {
        return std::none_of(reports.begin(), reports.end(),
                            [&](const KeptReportView& report) { return report.id == item.first; });
    });
    failed_.sweep();
}

bool RetentionAgent::waits_for_answer(const KeptReportView& report) const {
    return answers_.count(report.id) == 0 && !failed_.contains(answer_name(report.id));
}

std::optional<Duty<KeptReportView>> RetentionAgent::first_duty(const VerifierView& view) const {
    return earliest_duty(view.reports, [&](const KeptReportView& report) { return waits_for_answer(report); });
}

AgentOrder<KeptAnswer> RetentionAgent::answer_order(const VerifierView& view, const KeptReportView& report) {
    std::vector<KeptReportView> others;
    for (const KeptReportView& other : view.reports)
        if (other.id != report.id && other.terms.id == report.terms.id && other.run == report.run &&
            other.index == report.index && waits_for_answer(other))
            others.push_back(other);
    std::set<std::uint64_t> ids{report.id};
    for (const KeptReportView& other : others) ids.insert(other.id);
    const auto is_wanted = [ids](const VerifierView& now) {
        return std::any_of(now.reports.begin(), now.reports.end(),
                           [&](const KeptReportView& open) { return ids.count(open.id) != 0; });
    };
    const auto work = [this, report, others] {
        KeptAnswer made = answer_kept(report);
        for (const KeptReportView& other : others) made.others.push_back(answer_kept(other));
        context_.task_cache.bound_answers();
        return made;
    };
    const std::string more = others.empty() ? "" : " and " + std::to_string(others.size()) + " more";
    return {solver::make_order<KeptAnswer>(answer_name(report.id) + more, KeptAnswer{report.id, {}, ""}, work,
                                           context_.no_deadline_fetch_by(), {report.terms.id, report.run}),
            is_wanted};
}

std::optional<AgentOrder<Held>> RetentionAgent::keep_order(const VerifierView& view) {
    for (const OfferView& offer : view.offers) {
        const CheckpointKey key = kept_key(offer.terms.id, offer.run, offer.index);
        const std::string name = keep_name(key.task, offer.run, key.index);
        const bool here = context_.store.newest(key.task, key.run, key.index) == key;
        // Nobody takes over a run of a group, so its states have no keepers.
        if (!context_.config.keep_offers || offer.terms.group || here || failed_.contains(name)) continue;
        return AgentOrder<Held>{solver::make_order<Held>(name, Held{offer.terms.id, offer.run, offer.index, ""},
                                                         [this, offer] { return hold(offer); },
                                                         context_.no_deadline_fetch_by(), {offer.terms.id, offer.run})};
    }
    return std::nullopt;
}

void RetentionAgent::on_done(const KeptAnswer& made) {
    take_answer(made);
    for (const KeptAnswer& other : made.others) take_answer(other);
}

void RetentionAgent::take_answer(const KeptAnswer& made) {
    if (made.preempted) return;
    if (!made.problem.empty()) return failed_.add(answer_name(made.report), made.problem);
    answers_[made.report] = made.answer;
}

void RetentionAgent::on_done(const Held& held) {
    if (!held.problem.empty() && !held.preempted) failed_.add(keep_name(held.task, held.run, held.index), held.problem);
}

// --- Worker thread.

KeptAnswer RetentionAgent::answer_kept(const KeptReportView& view) {
    KeptAnswer made{view.id, {}, ""};
    solver::TaskCache& cache = context_.task_cache;
    // The data sets are not needed: a state proves itself, and the reporter may be the one that no longer serves the
    // data.
    const auto program = cache.header(view.terms);
    if (!program) {
        made.problem = program.error().message;
        made.preempted = context_.preempted();
        return made;
    }
    made.problem = "the state is not here any more";
    const CheckpointKey own{view.terms.id, view.run, view.index};
    for (const CheckpointKey& key : {own, kept_key(own.task, own.run, own.index)}) {
        const auto tile =
            cache.answers().state_tile(context_.store, key, *program, view.tensor, view.tile, cache.pool());
        if (!tile) continue;
        made.answer = encode(*tile);
        made.problem.clear();
        break;
    }
    return made;
}

Held RetentionAgent::hold(const OfferView& view) {
    Held done{view.terms.id, view.run, view.index, ""};
    solver::TaskCache& cache = context_.task_cache;
    const auto material = cache.material(view.terms);
    if (!material) {
        done.problem = material.error().message;
        done.preempted = context_.preempted();
        return done;
    }
    const auto state = cache.fetch(**material, view.root, view.index);
    if (!state) {
        done.problem = state.error().message;
        done.preempted = context_.preempted();
        return done;
    }
    const CheckpointKey key = kept_key(view.terms.id, view.run, view.index);
    const auto commitment = kernels::commit_state((*material)->program->root(), *state, cache.pool());
    auto saved = context_.store.save(key, commitment, *state);
    if (saved) saved = context_.store.retain(key, true);
    if (!saved) done.problem = saved.error().message;
    return done;
}

}  // namespace retrace::verifier
