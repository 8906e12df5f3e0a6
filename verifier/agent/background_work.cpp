// SPDX-License-Identifier: MIT
// A verifier's work in addition to its audits: it checks initial states and watches segments that it was not drawn for.
#include <algorithm>

#include "merkle/hash/sha256.hpp"
#include "verifier/agent/agent.hpp"

namespace retrace::verifier {
namespace {

using solver::CheckpointKey;

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
        if (context_.due("initial " + place_text(initial.terms.id, initial.run, 0)))
            out.moves.emplace_back(ChallengeInitial{initial.terms.id, initial.run, *checked->second});
    }
    for (const WatchView& seen : view.watch) {
        const auto watched = watched_.find({seen.terms.id, seen.run, seen.segment});
        if (watched == watched_.end() || !watched->second) continue;
        if (context_.due("challenge " + place_text(seen.terms.id, seen.run, seen.segment)))
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
    failed_.sweep();
}

bool VerifierAgent::waits_for_check(const InitialView& initial) const {
    return initials_.count({initial.terms.id, initial.run}) == 0 && !failed_.contains(initial_name(initial.terms.id));
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
            failed_.contains("watch " + place_text(key.task, key.run, key.index)) ||
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
            "watch " + place_text(first->terms.id, first->run, first->segment),
            Watched{first->terms.id, first->run, first->segment, std::nullopt, ""},
            [this, seen = *first] { return VerifierResult(watch(seen)); }, until);
    }
    return std::nullopt;
}

void VerifierAgent::on_background_work(const VerifierResult& result) {
    const auto failed = [&](const std::string& name, const std::string& problem) { failed_.add(name, problem); };
    if (const auto* checked = std::get_if<InitialChecked>(&result)) {
        if (checked->put_off) return;
        const std::string name = initial_name(checked->task);
        if (!checked->problem.empty()) return failed(name, checked->problem);
        initials_[{checked->task, checked->run}] = checked->other;
    } else if (const auto* seen = std::get_if<Watched>(&result)) {
        if (seen->put_off) return;
        const std::string name = "watch " + place_text(seen->task, seen->run, seen->segment);
        if (!seen->problem.empty()) return failed(name, seen->problem);
        const CheckpointKey key{seen->task, seen->run, seen->segment};
        if (seen->other)
            watched_[key] = seen->other;
        else
            right_[key] = context_.height;
    }
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

}  // namespace retrace::verifier
