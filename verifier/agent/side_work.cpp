// SPDX-License-Identifier: MIT
// What a verifier does beside the audits that it was drawn for: checks initial states, watches segments of its own
// accord, keeps states that solvers pay for, and answers for those that it keeps.
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

}  // namespace

std::uint64_t VerifierAgent::draw_of(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const {
    const Hash32 draw = merkle::Sha256()
                            .update(retrace::view(std::string_view("retrace/watch/1")))
                            .update(retrace::view(config_.secret))
                            .update_u64(task)
                            .update_u32(run)
                            .update_u64(segment)
                            .finish();
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) number = number << 8 | draw.bytes[i];
    return number;
}

bool VerifierAgent::watches(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const {
    constexpr std::uint64_t kWhole = 10'000;
    return draw_of(task, run, segment) % kWhole < config_.watch_bp;
}

void VerifierAgent::challenge(const VerifierView& view, Output& out) {
    for (const InitialView& initial : view.initials) {
        const auto checked = initials_.find({initial.terms.id, initial.run});
        if (checked == initials_.end() || !checked->second || *checked->second == initial.root) continue;
        if (due("initial " + place(initial.terms.id, initial.run, 0), view.height))
            out.moves.emplace_back(ChallengeInitial{initial.terms.id, initial.run, *checked->second});
    }
    for (const WatchView& seen : view.watch) {
        const auto watched = watched_.find({seen.terms.id, seen.run, seen.segment});
        if (watched == watched_.end() || !watched->second) continue;
        if (due("challenge " + place(seen.terms.id, seen.run, seen.segment), view.height))
            out.moves.emplace_back(ChallengeSegment{seen.terms.id, seen.run, seen.segment, *watched->second});
    }
    // A segment that can no longer be challenged is forgotten, so that the maps stay small.
    std::erase_if(watched_, [&](const auto& item) {
        return std::none_of(view.watch.begin(), view.watch.end(), [&](const WatchView& seen) {
            return CheckpointKey{seen.terms.id, seen.run, seen.segment} == item.first;
        });
    });
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
        if (due("answer " + std::to_string(report.id), view.height))
            out.moves.emplace_back(AnswerReport{report.id, made->second});
    }
    std::erase_if(kept_answers_, [&](const auto& item) {
        return std::none_of(view.reports.begin(), view.reports.end(),
                            [&](const KeptReportView& report) { return report.id == item.first; });
    });
}

void VerifierAgent::report_for_disputes(const VerifierView& view, Output& out) {
    if (busy_) return;  // The running order may be about to write what is read here.
    for (const DisputeView& play : view.disputes) {
        const auto missing = dispute_missing_.find(play.id);
        if (missing == dispute_missing_.end() || !missing->second.kind || !play.may_report) continue;
        const solver::Unavailable& what = missing->second;
        const std::uint64_t index = what.kind == solver::ReportKind::state ? play.segment : what.index;
        if (due("report in dispute " + std::to_string(play.id), view.height))
            out.moves.emplace_back(
                ReportUnavailable{*what.kind, play.terms.id, play.run, index, what.tensor, what.tile});
    }
    std::erase_if(dispute_missing_, [&](const auto& item) {
        return std::none_of(view.disputes.begin(), view.disputes.end(),
                            [&](const DisputeView& play) { return play.id == item.first; });
    });
}

bool VerifierAgent::waits_for_answer(const KeptReportView& report) const {
    return kept_answers_.count(report.id) == 0 && pause_.count(answer_name(report.id)) == 0;
}

std::optional<VerifierWork> VerifierAgent::keeper_work(const VerifierView& view) {
    const std::uint64_t until = view.height + config_.side_fetch_blocks;
    for (const KeptReportView& report : view.reports) {
        if (!waits_for_answer(report)) continue;
        return solver::make_order<VerifierResult>(
            answer_name(report.id), KeptAnswer{report.id, {}, ""},
            [this, report] { return VerifierResult(answer_kept(report)); }, until);
    }
    return std::nullopt;
}

std::optional<VerifierWork> VerifierAgent::watch_work(const VerifierView& view) {
    const std::uint64_t until = view.height + config_.side_fetch_blocks;
    for (const InitialView& initial : view.initials) {
        const std::string name = "initial state of task " + std::to_string(initial.terms.id);
        if (initials_.count({initial.terms.id, initial.run}) != 0 || pause_.count(name) != 0) continue;
        return solver::make_order<VerifierResult>(
            "check " + name, InitialChecked{initial.terms.id, initial.run, std::nullopt, ""},
            [this, initial] { return VerifierResult(check_initial(initial)); }, until);
    }
    // In an order that nobody knows: whoever fills the list with cheap segments does not hide a dear one behind them.
    const WatchView* first = nullptr;
    std::uint64_t least = 0;
    for (const WatchView& seen : view.watch) {
        const CheckpointKey key{seen.terms.id, seen.run, seen.segment};
        if (watched_.count(key) != 0 || pause_.count("watch " + place(key.task, key.run, key.index)) != 0 ||
            !watches(key.task, key.run, key.index))
            continue;
        const std::uint64_t draw = draw_of(key.task, key.run, key.index);
        if (first == nullptr || draw < least) first = &seen, least = draw;
    }
    if (first != nullptr) {
        running_deadline_ = kUnasked;
        return solver::make_order<VerifierResult>(
            "watch " + place(first->terms.id, first->run, first->segment),
            Watched{first->terms.id, first->run, first->segment, std::nullopt, ""},
            [this, seen = *first] { return VerifierResult(watch(seen)); }, until);
    }
    for (const OfferView& offer : view.offers) {
        const CheckpointKey key = kept_key(offer.terms.id, offer.run, offer.index);
        const std::string name = "keep " + place(key.task, offer.run, key.index);
        const bool here = store_.newest(key.task, key.run, key.index) == key;
        if (!config_.keep_offers || here || pause_.count(name) != 0) continue;
        return solver::make_order<VerifierResult>(
            name, Held{offer.terms.id, offer.run, offer.index, ""},
            [this, offer] { return VerifierResult(hold(offer)); }, until);
    }
    return std::nullopt;
}

void VerifierAgent::on_side_work(const VerifierResult& result) {
    const auto failed = [&](const std::string& name, const std::string& problem) {
        problems_.push_back(name + ": " + problem);
        pause_[name] = height_ + config_.resend_blocks;
    };
    if (const auto* checked = std::get_if<InitialChecked>(&result)) {
        const std::string name = "initial state of task " + std::to_string(checked->task);
        if (!checked->problem.empty()) return failed(name, checked->problem);
        initials_[{checked->task, checked->run}] = checked->other;
    } else if (const auto* seen = std::get_if<Watched>(&result)) {
        if (seen->put_off) return;
        const std::string name = "watch " + place(seen->task, seen->run, seen->segment);
        if (!seen->problem.empty()) return failed(name, seen->problem);
        watched_[{seen->task, seen->run, seen->segment}] = seen->other;
    } else if (const auto* held = std::get_if<Held>(&result)) {
        if (!held->problem.empty()) failed("keep " + place(held->task, held->run, held->index), held->problem);
    } else if (const auto* made = std::get_if<KeptAnswer>(&result)) {
        if (!made->problem.empty()) return failed(answer_name(made->report), made->problem);
        kept_answers_[made->report] = made->answer;
    }
}

// --- Worker thread.

InitialChecked VerifierAgent::check_initial(const InitialView& view) {
    InitialChecked done{view.terms.id, view.run, std::nullopt, ""};
    const auto material = workshop_.material(view.terms);
    if (!material) {
        done.problem = material.error().message;
        return done;
    }
    // Twice before it accuses anybody: memory may fail.
    for (int replays = 0; replays < 2; ++replays) {
        const auto state = workshop_.initial_state(**material);
        if (!state) {
            done.problem = state.error().message;
            return done;
        }
        const Hash32 own = kernels::commit_state((*material)->program->root(), *state, workshop_.pool()).root;
        if (own == view.root) {
            done.other.reset();
            return done;
        }
        if (done.other && *done.other != own) done.problem = "two computations differ: this machine cannot be trusted";
        done.other = own;
    }
    return done;
}

Watched VerifierAgent::watch(const WatchView& view) {
    Watched done{view.terms.id, view.run, view.segment, std::nullopt, ""};
    const auto material = workshop_.material(view.terms);
    if (!material) {
        done.problem = material.error().message;
        return done;
    }
    solver::TaskMaterial& task = **material;
    const CheckpointKey segment{view.terms.id, view.run, view.segment};
    // Which of the two it was when it was put off.
    const auto left = begun_.find(segment.task);
    bool again = left != begun_.end() && left->second.segment == segment && left->second.first.has_value();
    if (again) done.other = left->second.first;
    for (;; again = true) {
        auto begun = begin(task, segment, view.start_root, again);
        if (!begun) {
            done.problem = begun.error().message;
            return done;
        }
        begun->first = done.other;
        if (!run_to(task, *begun, view.terms.schedule.step_of(view.segment + 1))) {
            done.put_off = true;
            return done;
        }
        const Hash32 own = kernels::commit_state(task.program->root(), begun->state, workshop_.pool()).root;
        if (own == view.end_root) {
            done.other.reset();
            return done;
        }
        if (done.other && *done.other != own) done.problem = "two replays differ: this machine cannot be trusted";
        done.other = own;
        if (again) return done;
    }
}

Held VerifierAgent::hold(const OfferView& view) {
    Held done{view.terms.id, view.run, view.index, ""};
    const auto material = workshop_.material(view.terms);
    if (!material) {
        done.problem = material.error().message;
        return done;
    }
    const auto state = workshop_.fetch(**material, view.root, view.index);
    if (!state) {
        done.problem = state.error().message;
        return done;
    }
    const CheckpointKey key = kept_key(view.terms.id, view.run, view.index);
    const auto commitment = kernels::commit_state((*material)->program->root(), *state, workshop_.pool());
    auto saved = store_.save(key, commitment, *state);
    if (saved) saved = store_.retain(key, true);
    if (!saved) done.problem = saved.error().message;
    return done;
}

KeptAnswer VerifierAgent::answer_kept(const KeptReportView& view) {
    KeptAnswer made{view.id, {}, ""};
    // Not the data: a state proves itself, and who asks for it may be who no longer serves them.
    const auto program = workshop_.header(view.terms);
    if (!program) {
        made.problem = program.error().message;
        return made;
    }
    made.problem = "the state is not here any more";
    const CheckpointKey own{view.terms.id, view.run, view.index};
    for (const CheckpointKey& key : {own, kept_key(own.task, own.run, own.index)}) {
        const auto state = store_.load(key, workshop_.pool());
        const auto commitment = store_.commitment(key);
        if (!state || !commitment) continue;
        made.answer = encode(solver::answer_state_tile(*program, *commitment, *state, view.tensor,
                                                       view.tile, workshop_.pool()));
        made.problem.clear();
        break;
    }
    return made;
}

}  // namespace retrace::verifier
