// SPDX-License-Identifier: MIT
#include "verifier/agent/segment_replays.hpp"

#include <algorithm>

#include "verifier/agent/keys.hpp"

namespace retrace::verifier {

using solver::CheckpointKey;

Result<kernels::State, solver::Unavailable> SegmentReplays::start_state(const ReplayInputs& inputs,
                                                                        const CheckpointKey& segment,
                                                                        const Hash32& root) {
    solver::CheckpointStore& store = context_.store;
    kernels::ThreadPool& pool = context_.task_cache.pool();
    // The end of a segment that was audited before is the start of the next.
    const CheckpointKey claimed = claimed_key(segment.task, segment.run, segment.index);
    for (const CheckpointKey& key : {claimed, segment}) {
        const auto known = store.commitment(key);
        if (!known || known->root != root) continue;
        auto loaded = store.load(key, pool);
        if (!loaded) continue;
        loaded->step = inputs.steps->header_step(inputs.first);
        return std::move(loaded).value();
    }
    RETRACE_TRY(state, inputs.fetch_start(root));
    // The state is kept for the dispute: a solver that lied has no reason to serve it a second time.
    auto saved = store.save(claimed, kernels::commit_state(inputs.steps->root(), state, pool), state);
    if (saved) saved = store.retain(claimed, true);
    if (!saved) return Unexpected{solver::Unavailable{saved.error().message, std::nullopt, 0, 0}};
    state.step = inputs.steps->header_step(inputs.first);
    return state;
}

Result<SegmentReplays::Begun, solver::Unavailable> SegmentReplays::begin(const ReplayInputs& inputs,
                                                                         const CheckpointKey& segment,
                                                                         const Hash32& root) {
    const auto other = suspended_.find(segment.task);
    if (other != suspended_.end() && other->second.segment == segment)
        return std::move(suspended_.extract(other).mapped());
    std::optional<kernels::State> state = take_saved(segment);
    if (!state) {
        RETRACE_TRY(fetched, start_state(inputs, segment, root));
        state = std::move(fetched);
        state->step = inputs.steps->replay_step(inputs.first);
    }
    if (other != suspended_.end()) {
        save(inputs.steps->root(), other->second);
        suspended_.erase(other);
    }
    return Begun{segment, std::move(*state), inputs.steps->replay_step(inputs.first)};
}

std::optional<kernels::State> SegmentReplays::take_saved(const CheckpointKey& segment) {
    const auto saved = saved_.extract(segment);
    if (!saved) return std::nullopt;
    auto loaded = context_.store.load(saved.mapped(), context_.task_cache.pool());
    // clean_up() deletes it: it is not needed any more.
    if (!loaded) return std::nullopt;
    return std::move(loaded).value();
}

void SegmentReplays::save(const Hash32& program_root, const Begun& begun) {
    const CheckpointKey& segment = begun.segment;
    if (begun.state.step == begun.start_step) return;  // The start is in the store.
    const CheckpointKey key = progress_key(segment.task, segment.run, begun.state.step);
    const kernels::StateCommitment commitment =
        kernels::commit_state(program_root, begun.state, context_.task_cache.pool());
    auto saved = context_.store.save(key, commitment, begun.state);
    if (saved) saved = context_.store.retain(key, true);
    // Without room on the disk the replay begins again at its start.
    if (saved) saved_.insert_or_assign(segment, key);
}

bool SegmentReplays::run(const ReplayInputs& inputs, Begun& begun) {
    solver::Preemption& preemption = context_.slot.preemption();
    const std::uint64_t last_step = inputs.steps->replay_step(inputs.last);
    {
        const auto computation = inputs.steps->compute(begun.state);
        bool whole = true;
        computation->run_ahead(last_step);
        while (whole && computation->step() < last_step && !preemption.requested()) {
            preemption.begin_step();
            whole = computation->attempt(preemption.step_stop()).has_value();
        }
        if (whole) computation->state();
    }
    if (begun.state.tensors.empty()) return false;
    if (begun.state.step == last_step) return true;
    suspended_.insert_or_assign(begun.segment.task, std::move(begun));
    return false;
}

void SegmentReplays::forget_closed(const VerifierView& view) {
    const auto is_closed = [&](const CheckpointKey& of) {
        const auto same = [&](const auto& other) {
            return CheckpointKey{other.terms.id, other.run, other.segment} == of;
        };
        return std::none_of(view.audits.begin(), view.audits.end(), same) &&
               std::none_of(view.watch.begin(), view.watch.end(), same);
    };
    std::erase_if(suspended_, [&](const auto& item) { return is_closed(item.second.segment); });
    std::erase_if(saved_, [&](const auto& item) { return is_closed(item.first); });
}

void SegmentReplays::add_needed(std::set<CheckpointKey>& needed) const {
    for (const auto& [segment, key] : saved_) needed.insert(key);
}

}  // namespace retrace::verifier
