// SPDX-License-Identifier: MIT
// A verifier's work in addition to its audits: it checks initial states, watches segments that it was not drawn for,
// keeps states that solvers pay for, and answers reports about the states that it keeps.
#include <algorithm>

#include "merkle/hash/sha256.hpp"
#include "solver/artifacts/availability.hpp"
#include "verifier/agent/agent.hpp"
#include "verifier/agent/keys.hpp"

namespace retrace::verifier {
namespace {

using solver::CheckpointKey;

std::string place(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return std::to_string(task) + " " + std::to_string(run) + " " + std::to_string(index);
}

std::string answer_name(std::uint64_t report) { return "answer report " + std::to_string(report); }

std::string initial_name(std::uint64_t task) { return "initial state of task " + std::to_string(task); }

}  // namespace

std::uint64_t VerifierAgent::draw_of(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const {
    const Hash32 draw = merkle::Sha256()
                            .update(retrace::view(std::string_view("retrace/watch/1")))
                            .update(retrace::view(context_.config.secret))
                            .update_u64(task)
                            .update_u32(run)
                            .update_u64(segment)
                            .finish();
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) number = number << 8 | draw.bytes[i];
    return number;
}

bool VerifierAgent::watches(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const {
    if (right_.count({task, run, segment}) != 0) return false;  // An unchecked segment takes its turn.
    constexpr std::uint64_t kWhole = 10'000;
    return draw_of(task, run, segment) % kWhole < context_.config.watch_bp;
}

void VerifierAgent::challenge(const VerifierView& view, Output& out) {
    for (const InitialView& initial : view.initials) {
        const auto checked = initials_.find({initial.terms.id, initial.run});
        if (checked == initials_.end() || !checked->second || *checked->second == initial.root) continue;
        if (context_.due("initial " + place(initial.terms.id, initial.run, 0)))
            out.moves.emplace_back(ChallengeInitial{initial.terms.id, initial.run, *checked->second});
    }
    for (const WatchView& seen : view.watch) {
        const auto watched = watched_.find({seen.terms.id, seen.run, seen.segment});
        if (watched == watched_.end() || !watched->second) continue;
        if (context_.due("challenge " + place(seen.terms.id, seen.run, seen.segment)))
            out.moves.emplace_back(ChallengeSegment{seen.terms.id, seen.run, seen.segment, *watched->second});
    }
    // A segment that can no longer be challenged is forgotten, so that the maps stay small.
    std::erase_if(watched_, [&](const auto& item) {
        return std::none_of(view.watch.begin(), view.watch.end(), [&](const WatchView& seen) {
            return CheckpointKey{seen.terms.id, seen.run, seen.segment} == item.first;
        });
    });
    // No challenge window stays open this long.
    constexpr std::uint64_t kRightBlocks = 100'000;
    std::erase_if(right_, [&](const auto& item) { return item.second + kRightBlocks < view.height; });
    std::erase_if(initials_, [&](const auto& item) {
        return std::none_of(view.initials.begin(), view.initials.end(), [&](const InitialView& initial) {
            return RunKey{initial.terms.id, initial.run} == item.first;
        });
    });
    std::erase_if(pause_, [&](const auto& item) { return item.second < view.height; });
}

void VerifierAgent::answer_reports(const VerifierView& view, Output& out) {
    for (const KeptReportView& report : view.reports) {
        const auto made = kept_answers_.find(report.id);
        if (made == kept_answers_.end()) continue;
        if (context_.due("answer " + std::to_string(report.id)))
            out.moves.emplace_back(AnswerReport{report.id, made->second});
    }
    std::erase_if(kept_answers_, [&](const auto& item) {
        return std::none_of(view.reports.begin(), view.reports.end(),
                            [&](const KeptReportView& report) { return report.id == item.first; });
    });
}

bool VerifierAgent::waits_for_answer(const KeptReportView& report) const {
    return kept_answers_.count(report.id) == 0 && pause_.count(answer_name(report.id)) == 0;
}

bool VerifierAgent::waits_for_check(const InitialView& initial) const {
    return initials_.count({initial.terms.id, initial.run}) == 0 && pause_.count(initial_name(initial.terms.id)) == 0;
}

/// Answers all waiting reports about one state in one order: the state is loaded once, even if no memory is to spare.
VerifierWork VerifierAgent::answer_work(const VerifierView& view, const KeptReportView& report) {
    std::vector<KeptReportView> others;
    for (const KeptReportView& other : view.reports)
        if (other.id != report.id && other.terms.id == report.terms.id && other.run == report.run &&
            other.index == report.index && waits_for_answer(other))
            others.push_back(other);
    std::set<std::uint64_t> ids{report.id};
    for (const KeptReportView& other : others) ids.insert(other.id);
    wanted_ = [ids](const VerifierView& now) {
        return std::any_of(now.reports.begin(), now.reports.end(),
                           [&](const KeptReportView& open) { return ids.count(open.id) != 0; });
    };
    const auto work = [this, report, others] {
        KeptAnswer made = answer_kept(report);
        for (const KeptReportView& other : others) made.others.push_back(answer_kept(other));
        context_.task_cache.bound_answers();
        return VerifierResult(std::move(made));
    };
    const std::string more = others.empty() ? "" : " and " + std::to_string(others.size()) + " more";
    return solver::make_order<VerifierResult>(answer_name(report.id) + more, KeptAnswer{report.id, {}, ""}, work,
                                              context_.side_fetch_by());
}

VerifierWork VerifierAgent::initial_work(const InitialView& initial) {
    wanted_ = [run = RunKey{initial.terms.id, initial.run}](const VerifierView& now) {
        return std::any_of(now.initials.begin(), now.initials.end(), [&](const InitialView& other) {
            return RunKey{other.terms.id, other.run} == run;
        });
    };
    return solver::make_order<VerifierResult>(
        "check " + initial_name(initial.terms.id), InitialChecked{initial.terms.id, initial.run, std::nullopt, ""},
        [this, initial] { return VerifierResult(check_initial(initial)); }, context_.side_fetch_by());
}

/// Chooses work that the ledger did not ask for.
std::optional<VerifierWork> VerifierAgent::watch_work(const VerifierView& view) {
    const std::uint64_t until = context_.side_fetch_by();
    for (const InitialView& initial : view.initials)
        if (waits_for_check(initial)) return initial_work(initial);
    // The order is secret: a solver cannot hide an expensive segment behind many cheap ones.
    const WatchView* first = nullptr;
    std::uint64_t least = 0;
    for (const WatchView& seen : view.watch) {
        const CheckpointKey key{seen.terms.id, seen.run, seen.segment};
        if (watched_.count(key) != 0 || right_.count(key) != 0 ||
            pause_.count("watch " + place(key.task, key.run, key.index)) != 0 ||
            !watches(key.task, key.run, key.index))
            continue;
        const std::uint64_t draw = draw_of(key.task, key.run, key.index);
        if (first == nullptr || draw < least) first = &seen, least = draw;
    }
    if (first != nullptr) {
        wanted_ = [segment = CheckpointKey{first->terms.id, first->run, first->segment}](const VerifierView& now) {
            return std::any_of(now.watch.begin(), now.watch.end(), [&](const WatchView& seen) {
                return CheckpointKey{seen.terms.id, seen.run, seen.segment} == segment;
            });
        };
        return solver::make_order<VerifierResult>(
            "watch " + place(first->terms.id, first->run, first->segment),
            Watched{first->terms.id, first->run, first->segment, std::nullopt, ""},
            [this, seen = *first] { return VerifierResult(watch(seen)); }, until);
    }
    for (const OfferView& offer : view.offers) {
        const CheckpointKey key = kept_key(offer.terms.id, offer.run, offer.index);
        const std::string name = "keep " + place(key.task, offer.run, key.index);
        const bool here = context_.store.newest(key.task, key.run, key.index) == key;
        if (!context_.config.keep_offers || here || pause_.count(name) != 0) continue;
        return solver::make_order<VerifierResult>(
            name, Held{offer.terms.id, offer.run, offer.index, ""},
            [this, offer] { return VerifierResult(hold(offer)); }, until);
    }
    return std::nullopt;
}

/// Records failed side work, which is retried after `resend_blocks`.
void VerifierAgent::put_aside(const std::string& name, const std::string& problem) {
    context_.problems.push_back(name + ": " + problem);
    pause_[name] = context_.height + context_.config.resend_blocks;
}

void VerifierAgent::on_background_work(const VerifierResult& result) {
    const auto failed = [&](const std::string& name, const std::string& problem) { put_aside(name, problem); };
    if (const auto* checked = std::get_if<InitialChecked>(&result)) {
        if (checked->put_off) return;
        const std::string name = initial_name(checked->task);
        if (!checked->problem.empty()) return failed(name, checked->problem);
        initials_[{checked->task, checked->run}] = checked->other;
    } else if (const auto* seen = std::get_if<Watched>(&result)) {
        if (seen->put_off) return;
        const std::string name = "watch " + place(seen->task, seen->run, seen->segment);
        if (!seen->problem.empty()) return failed(name, seen->problem);
        const CheckpointKey key{seen->task, seen->run, seen->segment};
        if (seen->other)
            watched_[key] = seen->other;
        else
            right_[key] = context_.height;
    } else if (const auto* held = std::get_if<Held>(&result)) {
        if (!held->problem.empty() && !held->put_off)
            failed("keep " + place(held->task, held->run, held->index), held->problem);
    } else if (const auto* made = std::get_if<KeptAnswer>(&result)) {
        on_kept_answer(*made);
        for (const KeptAnswer& other : made->others) on_kept_answer(other);
    }
}

void VerifierAgent::on_kept_answer(const KeptAnswer& made) {
    if (made.put_off) return;
    if (!made.problem.empty()) return put_aside(answer_name(made.report), made.problem);
    kept_answers_[made.report] = made.answer;
}

// --- Worker thread.

InitialChecked VerifierAgent::check_initial(const InitialView& view) {
    InitialChecked done{view.terms.id, view.run, std::nullopt, ""};
    const auto material = context_.task_cache.material(view.terms);
    if (!material) {
        done.problem = material.error().message;
        done.put_off = context_.gives_way();
        return done;
    }
    solver::Preemption& preemption = context_.slot.preemption();
    preemption.begin_step();
    const auto state = context_.task_cache.initial_state(**material, [&] { return preemption.may_finish_step(); });
    if (!state) {
        done.problem = state.error().message;
        done.put_off = context_.gives_way();
        return done;
    }
    const Hash32 own = kernels::commit_state((*material)->program->root(), *state, context_.task_cache.pool()).root;
    if (own != view.root) done.other = own;
    return done;
}

Watched VerifierAgent::watch(const WatchView& view) {
    Watched done{view.terms.id, view.run, view.segment, std::nullopt, ""};
    const auto material = context_.task_cache.material(view.terms);
    if (!material) {
        done.problem = material.error().message;
        done.put_off = context_.gives_way();
        return done;
    }
    solver::TaskMaterial& task = **material;
    const CheckpointKey segment{view.terms.id, view.run, view.segment};
    auto begun = replays_.begin(task, segment, view.start_root);
    if (!begun) {
        done.problem = begun.error().message;
        done.put_off = context_.gives_way();
        return done;
    }
    if (!replays_.run_to(task, *begun, view.terms.schedule.step_of(view.segment + 1))) {
        done.put_off = true;
        return done;
    }
    const Hash32 own = kernels::commit_state(task.program->root(), begun->state, context_.task_cache.pool()).root;
    if (own != view.end_root) done.other = own;
    return done;
}

Held VerifierAgent::hold(const OfferView& view) {
    Held done{view.terms.id, view.run, view.index, ""};
    const auto material = context_.task_cache.material(view.terms);
    if (!material) {
        done.problem = material.error().message;
        done.put_off = context_.gives_way();
        return done;
    }
    const auto state = context_.task_cache.fetch(**material, view.root, view.index);
    if (!state) {
        done.problem = state.error().message;
        done.put_off = context_.gives_way();
        return done;
    }
    const CheckpointKey key = kept_key(view.terms.id, view.run, view.index);
    const auto commitment = kernels::commit_state((*material)->program->root(), *state, context_.task_cache.pool());
    auto saved = context_.store.save(key, commitment, *state);
    if (saved) saved = context_.store.retain(key, true);
    if (!saved) done.problem = saved.error().message;
    return done;
}

KeptAnswer VerifierAgent::answer_kept(const KeptReportView& view) {
    KeptAnswer made{view.id, {}, ""};
    // The data sets are not needed: a state proves itself, and the reporter may be the one that no longer serves the
    // data.
    const auto program = context_.task_cache.header(view.terms);
    if (!program) {
        made.problem = program.error().message;
        made.put_off = context_.gives_way();
        return made;
    }
    made.problem = "the state is not here any more";
    const CheckpointKey own{view.terms.id, view.run, view.index};
    for (const CheckpointKey& key : {own, kept_key(own.task, own.run, own.index)}) {
        const auto tile = context_.task_cache.answers().state_tile(context_.store, key, *program, view.tensor,
                                                                   view.tile, context_.task_cache.pool());
        if (!tile) continue;
        made.answer = encode(*tile);
        made.problem.clear();
        break;
    }
    return made;
}

}  // namespace retrace::verifier
