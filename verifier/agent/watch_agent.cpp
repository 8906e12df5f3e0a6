// SPDX-License-Identifier: MIT
#include "verifier/agent/watch_agent.hpp"

#include <algorithm>

#include "merkle/hash/sha256.hpp"
#include "verifier/replay/replayer.hpp"

namespace retrace::verifier {
namespace {

using solver::CheckpointKey;

std::string initial_name(std::uint64_t task) { return "initial state of task " + std::to_string(task); }

/// Members of a group begin with different states, so that the check of one may fail and that of another not.
std::string initial_name(std::uint64_t task, std::uint32_t run) {
    return initial_name(task) + " run " + std::to_string(run);
}

std::string watch_name(const CheckpointKey& segment) {
    return "watch " + key_text(segment.task, segment.run, segment.index);
}

CheckpointKey segment_of(const WatchView& seen) { return {seen.terms.id, seen.run, seen.segment}; }

}  // namespace

std::uint64_t WatchAgent::draw_of(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const {
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

bool WatchAgent::watches(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const {
    if (right_.count({task, run, segment}) != 0) return false;  // An unchecked segment takes its turn.
    constexpr std::uint64_t kWhole = 10'000;
    return draw_of(task, run, segment) % kWhole < context_.config.watch_bp;
}

void WatchAgent::on_view(const VerifierView& view, std::vector<VerifierMove>& moves) {
    for (const InitialView& initial : view.initials) {
        const auto checked = initials_.find({initial.terms.id, initial.run});
        if (checked == initials_.end() || !checked->second || *checked->second == initial.root) continue;
        if (context_.due("initial " + key_text(initial.terms.id, initial.run, 0)))
            moves.emplace_back(ChallengeInitial{initial.terms.id, initial.run, *checked->second});
    }
    for (const WatchView& seen : view.watch) {
        const auto watched = watched_.find(segment_of(seen));
        if (watched == watched_.end() || !watched->second) continue;
        if (context_.due("challenge " + key_text(seen.terms.id, seen.run, seen.segment)))
            moves.emplace_back(ChallengeSegment{seen.terms.id, seen.run, seen.segment, *watched->second});
    }
    forget_closed(view);
    failed_.sweep();
}

/// Forgets what can no longer be challenged, so that the maps stay small.
void WatchAgent::forget_closed(const VerifierView& view) {
    std::erase_if(watched_, [&](const auto& item) {
        return std::none_of(view.watch.begin(), view.watch.end(),
                            [&](const WatchView& seen) { return segment_of(seen) == item.first; });
    });
    // No challenge window stays open this long.
    constexpr std::uint64_t kRightBlocks = 100'000;
    std::erase_if(right_, [&](const auto& item) { return item.second + kRightBlocks < view.height; });
    std::erase_if(initials_, [&](const auto& item) {
        return std::none_of(view.initials.begin(), view.initials.end(), [&](const InitialView& initial) {
            return RunKey{initial.terms.id, initial.run} == item.first;
        });
    });
}

bool WatchAgent::waits_for_check(const InitialView& initial) const {
    return initials_.count({initial.terms.id, initial.run}) == 0 &&
           !failed_.contains(initial_name(initial.terms.id, initial.run));
}

bool WatchAgent::waits_for_replay(const WatchView& seen) const {
    const CheckpointKey segment = segment_of(seen);
    return watched_.count(segment) == 0 && right_.count(segment) == 0 && !failed_.contains(watch_name(segment)) &&
           watches(segment.task, segment.run, segment.index);
}

std::optional<Duty<InitialView>> WatchAgent::first_duty(const VerifierView& view) const {
    return earliest_duty(view.initials,
                         [&](const InitialView& initial) { return initial.assigned && waits_for_check(initial); });
}

AgentOrder<InitialChecked> WatchAgent::check_order(const InitialView& initial) {
    const auto is_wanted = [run = RunKey{initial.terms.id, initial.run}](const VerifierView& now) {
        return std::any_of(now.initials.begin(), now.initials.end(), [&](const InitialView& other) {
            return RunKey{other.terms.id, other.run} == run;
        });
    };
    return {solver::make_order<InitialChecked>("check " + initial_name(initial.terms.id),
                                               InitialChecked{initial.terms.id, initial.run, std::nullopt, ""},
                                               [this, initial] { return check_initial(initial); },
                                               context_.no_deadline_fetch_by(), {initial.terms.id, initial.run}),
            is_wanted};
}

std::optional<AgentOrder<InitialChecked>> WatchAgent::voluntary_check_order(const VerifierView& view) {
    for (const InitialView& initial : view.initials)
        if (waits_for_check(initial)) return check_order(initial);
    return std::nullopt;
}

std::optional<AgentOrder<Watched>> WatchAgent::watch_order(const VerifierView& view) {
    // The order is secret: a solver cannot hide an expensive segment behind many cheap ones.
    const WatchView* first = nullptr;
    std::uint64_t least = 0;
    for (const WatchView& seen : view.watch) {
        if (!waits_for_replay(seen)) continue;
        const std::uint64_t draw = draw_of(seen.terms.id, seen.run, seen.segment);
        if (first == nullptr || draw < least) first = &seen, least = draw;
    }
    if (first == nullptr) return std::nullopt;
    const auto is_wanted = [segment = segment_of(*first)](const VerifierView& now) {
        return std::any_of(now.watch.begin(), now.watch.end(),
                           [&](const WatchView& seen) { return segment_of(seen) == segment; });
    };
    return AgentOrder<Watched>{
        solver::make_order<Watched>(watch_name(segment_of(*first)),
                                    Watched{first->terms.id, first->run, first->segment, std::nullopt, ""},
                                    [this, seen = *first] { return watch(seen); }, context_.no_deadline_fetch_by(),
                                    {first->terms.id, first->run}),
        is_wanted};
}

void WatchAgent::on_done(const InitialChecked& checked) {
    if (checked.preempted) return;
    if (!checked.problem.empty()) return failed_.add(initial_name(checked.task, checked.run), checked.problem);
    initials_[{checked.task, checked.run}] = checked.other;
}

void WatchAgent::on_done(const Watched& seen) {
    if (seen.preempted) return;
    const CheckpointKey segment{seen.task, seen.run, seen.segment};
    if (!seen.problem.empty()) return failed_.add(watch_name(segment), seen.problem);
    if (seen.other)
        watched_[segment] = seen.other;
    else
        right_[segment] = context_.height;
}

// --- Worker thread.

InitialChecked WatchAgent::check_initial(const InitialView& view) {
    InitialChecked done{view.terms.id, view.run, std::nullopt, ""};
    auto inputs = replays_.inputs().initial(view.terms, view.run, view.entry);
    if (!inputs) {
        done.problem = inputs.error().message;
        done.preempted = context_.preempted();
        return done;
    }
    Replayer replay(std::move(inputs->steps), context_.task_cache.pool());
    replay.set_preemption(&context_.slot.preemption());
    const Hash32 own = replay.end_root();
    if (own != view.root) done.other = own;
    return done;
}

Watched WatchAgent::watch(const WatchView& view) {
    Watched done{view.terms.id, view.run, view.segment, std::nullopt, ""};
    const auto fail = [&](const solver::Unavailable& missing) {
        done.problem = missing.message;
        done.preempted = context_.preempted();
        return done;
    };
    const auto inputs = replays_.inputs().segment(view.terms, view.run, view.segment, view.member);
    if (!inputs) return fail(inputs.error());
    auto begun = replays_.begin(*inputs, segment_of(view), view.start_root);
    if (!begun) return fail(begun.error());
    if (!replays_.run(*inputs, *begun)) {
        done.preempted = true;
        return done;
    }
    const Hash32 own = kernels::commit_state(inputs->steps->root(), begun->state, context_.task_cache.pool()).root;
    if (own != view.end_root) done.other = own;
    return done;
}

}  // namespace retrace::verifier
