// SPDX-License-Identifier: MIT
#include "verifier/agent/dispute_replays.hpp"

#include <algorithm>
#include <new>
#include <set>

#include "merkle/base/non_fatal.hpp"
#include "verifier/player/player.hpp"

namespace retrace::verifier {
namespace {

/// Returns the challenger's own root for the claim, before its first move. The replay does not execute its segment
/// twice for that.
Hash32 second_replay(const Game& game, Replayer& replay) {
    if (replay.initialiser() || game.claim.first_step + 1 == game.claim.last_step)
        return replay.output_of(game.claim.first_step).root;
    return replay.end_root_beside(search_positions(game.search));
}

/// Returns why the second replay does not support the accusation, if so: memory may have failed in either replay, and
/// then there is nothing to accuse anybody of. SPEC 8.2.
std::optional<std::string> doubt(const DisputeView& view, Replayer& replay) {
    if (view.side != Side::challenger || view.game.rounds != 0) return std::nullopt;
    const Hash32 own = second_replay(view.game, replay);
    const std::string what = "no move is made and the bond is lost: the second replay ";
    if (own == view.game.claim.end_root)
        return what + "agrees with the solver, so the memory of this machine failed in the first";
    if (!view.claimed_root.is_zero() && own != view.claimed_root)
        return what + "differs from the first, so this machine cannot be trusted; test its memory";
    return std::nullopt;
}

}  // namespace

DisputeReplays::DisputeReplays(solver::TaskCache& task_cache, StartState start, solver::MessageStore* messages,
                               std::uint64_t memory)
    : task_cache_(task_cache), inputs_(task_cache, messages), start_(std::move(start)), memory_(memory) {
    task_cache_.on_less_to_spare(
        [this](std::uint64_t spare) {
            // During a move, this thread holds the lock already.
            if (working_) return keep_within(spare);
            const std::lock_guard lock(use_);
            keep_within(spare);
        },
        [this] { return kept_bytes(); });
}

DisputeReplays::~DisputeReplays() { task_cache_.on_less_to_spare({}); }

DisputeReplays::Segment DisputeReplays::segment_of(const DisputeView& view) {
    const bool initialiser = view.game.claim.initialiser;
    return {view.terms.id, view.run, initialiser ? 0 : view.segment, initialiser};
}

Result<Bytes, MoveProblem> DisputeReplays::answer(const DisputeView& view, solver::Preemption* preemption) {
    const std::lock_guard lock(use_);
    drop_closed();
    for (bool again = false;; again = true) {
        working_ = Working{view.id, segment_of(view)};
        try {
            auto move = attempt(view, preemption);
            working_.reset();
            keep_within(spare());
            return move;
        } catch (const std::bad_alloc&) {
            // The machine has less memory than the limit allows. Dropping the other replays and the answers may free
            // enough.
            working_.reset();
            replays_.clear();
            task_cache_.answers().clear();
            if (again) throw;
        } catch (...) {
            working_.reset();
            throw;
        }
    }
}

Result<Bytes, MoveProblem> DisputeReplays::attempt(const DisputeView& view, solver::Preemption* preemption) {
    const auto replay = replay_of(view);
    if (!replay) {
        const bool preempted = preemption != nullptr && preemption->requested();  // Preemption also aborts a fetch.
        return Unexpected{
            MoveProblem{replay.error().message, preempted ? MoveProblem::Kind::preempted : MoveProblem::Kind::failed}};
    }
    Replayer* const own = *replay;
    keep_within(spare());
    own->set_preemption(preemption);
    try {
        const NonFatalScope question;
        if (auto why = doubt(view, *own)) {
            // Replays of the segment share their roots, so all of them are dropped.
            std::erase_if(replays_, [&](const auto& item) { return item.second.segment == segment_of(view); });
            return Unexpected{MoveProblem{std::move(*why), MoveProblem::Kind::no_case}};
        }
        RETRACE_TRY(move, next_move(view.game, view.side, *own));
        return encode(move);
    } catch (const solver::Preempted& left) {
        return Unexpected{MoveProblem{left.what(), MoveProblem::Kind::preempted}};
    } catch (const BrokenInvariant& impossible) {
        // The view comes from a node that may be wrong, and a replay that it misled is useless.
        replays_.erase(view.id);
        return error(std::string("the node's game breaks an invariant of the rules: ") + impossible.what());
    }
}

Result<Replayer*> DisputeReplays::replay_of(const DisputeView& view) {
    const auto found = replays_.find(view.id);
    if (found != replays_.end()) return &found->second.replay;
    const Segment segment = segment_of(view);
    const auto keep = [&](Replayer replay) {
        return &replays_.emplace(view.id, DisputeReplay{segment, std::move(replay)}).first->second.replay;
    };
    for (const auto& [dispute, other] : replays_)
        if (other.segment == segment) return keep(other.replay.beside());
    kernels::ThreadPool& pool = task_cache_.pool();
    const auto free_memory = [&] { return give_up_task_but(view.terms.id); };
    if (segment.initialiser) {
        auto inputs = inputs_.initial(view.terms, view.run, view.entry, free_memory);
        if (!inputs) return error(inputs.error().message);
        return keep(Replayer(std::move(inputs->steps), pool));
    }
    if (const auto prepared = inputs_.prepare(view.terms, free_memory); !prepared)
        return error(prepared.error().message);
    keep_within(spare());  // The start takes memory before its replay exists.
    RETRACE_TRY(start, start_(view));
    auto inputs = inputs_.segment(view.terms, view.run, view.segment, view.member);
    if (!inputs) return error(inputs.error().message);
    const Claim& claim = view.game.claim;
    if (claim.first_step != inputs->first || claim.last_step != inputs->last)
        return error("the claim is about other steps than those of the segment");
    if (start.step != inputs->steps->header_step(inputs->first))
        return error("the state at the segment's start has the wrong step number");
    return keep(Replayer(std::move(inputs->steps), pool, std::move(start), inputs->first, inputs->last));
}

void DisputeReplays::sweep(const std::vector<DisputeView>& open, std::uint64_t height) {
    Clocks clocks;
    for (const DisputeView& view : open) {
        const bool own_turn = view.game.mover == view.side;
        clocks[view.id] = own_turn ? view.deadline : height + view.clock;
    }
    {
        const std::lock_guard lock(open_mutex_);
        open_ = std::move(clocks);
    }
    // If a move holds the lock, the next move drops them.
    if (const std::unique_lock lock(use_, std::try_to_lock); lock) drop_closed();
}

DisputeReplays::Clocks DisputeReplays::clocks() const {
    const std::lock_guard lock(open_mutex_);
    return open_;
}

void DisputeReplays::drop_closed() {
    const Clocks open = clocks();
    std::erase_if(replays_, [&](const auto& item) { return open.count(item.first) == 0; });
}

/// One replay of each task is counted with the task: the working one, or else the one whose clock ends first.
void DisputeReplays::keep_within(std::uint64_t spare) {
    std::uint64_t room = std::min(spare, memory_);
    const Clocks open = clocks();
    const auto rank = [&](Replays::iterator at) {
        const auto clock = open.find(at->first);
        return clock == open.end() ? UINT64_MAX : clock->second;
    };
    std::vector<Replays::iterator> order;
    for (auto at = replays_.begin(); at != replays_.end(); ++at) order.push_back(at);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    std::set<std::uint64_t> counted;
    std::set<Segment> started;
    if (working_) {
        counted.insert(working_->segment.task);
        started.insert(working_->segment);
    }
    for (const auto& at : order) {
        if (working_ && at->first == working_->dispute) continue;
        const DisputeReplay& entry = at->second;
        const std::uint64_t start = started.count(entry.segment) == 0 ? entry.replay.start_bytes() : 0;
        const std::uint64_t bytes = entry.replay.own_bytes() + start;
        if (!counted.insert(entry.segment.task).second) {
            if (bytes > room) {
                replays_.erase(at);
                continue;
            }
            room -= bytes;
        }
        started.insert(entry.segment);
    }
}

/// Drops the task whose replays can wait longest; tasks without replays go first.
bool DisputeReplays::give_up_task_but(std::uint64_t task) {
    const Clocks open = clocks();
    std::optional<std::uint64_t> last;
    std::uint64_t last_clock = 0;
    for (const std::uint64_t other : task_cache_.tasks()) {
        if (other == task) continue;
        std::uint64_t clock = UINT64_MAX;
        for (const auto& [dispute, entry] : replays_) {
            const auto at = open.find(dispute);
            if (entry.segment.task == other && at != open.end()) clock = std::min(clock, at->second);
        }
        if (!last || clock > last_clock) last = other, last_clock = clock;
    }
    if (!last) return false;
    std::erase_if(replays_, [&](const auto& item) { return item.second.segment.task == *last; });
    task_cache_.forget(*last);
    return true;
}

/// States kept for answers to reports are dropped first: loading one again is faster than making a replay again.
std::uint64_t DisputeReplays::spare() {
    if (all_bytes() > task_cache_.spare()) task_cache_.answers().clear();
    return task_cache_.spare();
}

std::uint64_t DisputeReplays::kept_bytes() const {
    const std::lock_guard lock(use_);
    return all_bytes();
}

std::uint64_t DisputeReplays::all_bytes() const {
    std::uint64_t bytes = 0;
    std::set<Segment> started;
    for (const auto& [dispute, entry] : replays_) {
        bytes += entry.replay.own_bytes();
        if (started.insert(entry.segment).second) bytes += entry.replay.start_bytes();
    }
    return bytes;
}

}  // namespace retrace::verifier
