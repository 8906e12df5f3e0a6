// SPDX-License-Identifier: MIT
// What a party needs to replay a segment, of a program or of a member of a group: fetched and checked, except for the
// start state.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "solver/agent/task_cache.hpp"
#include "solver/rounds/message_store.hpp"
#include "verifier/replay/replay_steps.hpp"

namespace retrace::verifier {

struct ReplayInputs {
    std::unique_ptr<ReplaySteps> steps;
    std::uint64_t first = 0, last = 0;  ///< Numbers of the segment's start and end (ReplaySteps); both 0: state 0.
    /// Returns the start state with this root: fetched and checked, or made where a member begins as everybody would.
    std::function<Result<kernels::State, solver::Unavailable>(const Hash32& root)> fetch_start;
};

/// Makes the inputs of replays. Worker thread; all of it outlives them.
class ReplayInputSource {
public:
    /// Messages of groups are kept in `messages`, for a dispute: a member that lied has no reason to serve them a
    /// second time. Null: segments of groups cannot be replayed.
    ReplayInputSource(solver::TaskCache& task_cache, solver::MessageStore* messages)
        : task_cache_(task_cache), messages_(messages) {}

    /// Of segment `segment` of a run. `member` is set exactly if the task is a group's.
    Result<ReplayInputs, solver::Unavailable> segment(const solver::TaskTerms& terms, std::uint32_t run,
                                                      std::uint64_t segment,
                                                      const std::optional<solver::SegmentView>& member,
                                                      const solver::TaskCache::FreeMemory& free_memory = {});
    /// Of the step that makes state 0 of a run. `entry` is set exactly if the task is a group's.
    Result<ReplayInputs, solver::Unavailable> initial(const solver::TaskTerms& terms, std::uint32_t run,
                                                      const std::optional<solver::EntryView>& entry,
                                                      const solver::TaskCache::FreeMemory& free_memory = {});
    /// Fetches what all segments of a task have in common, so that it has its memory before a segment takes some.
    Status<solver::Unavailable> prepare(const solver::TaskTerms& terms,
                                        const solver::TaskCache::FreeMemory& free_memory = {});
    /// Deletes the messages before the round that is given for their task, and those of other tasks. Called while no
    /// order runs.
    void keep_from(const std::map<std::uint64_t, std::uint32_t>& rounds);

private:
    Result<ReplayInputs, solver::Unavailable> member_segment(const solver::TaskTerms& terms, std::uint32_t run,
                                                             const solver::SegmentView& segment,
                                                             const solver::TaskCache::FreeMemory& free_memory);
    /// Stores the messages that the segment took in, those that are not here yet.
    Status<solver::Unavailable> fetch_messages(const solver::GroupMaterial& material,
                                               const solver::SegmentView& segment);

    Status<solver::Unavailable> store_anchor(const solver::GroupMaterial& material, const solver::EntryView& entry);
    /// Loads tensors whose numbers in the state are `numbers`. Throws if one is not here.
    std::vector<kernels::Tensor> load(const solver::GroupMaterial& material, const solver::MessageKey& key,
                                      const std::vector<std::uint32_t>& numbers);

    solver::TaskCache& task_cache_;
    solver::MessageStore* messages_;
};

}  // namespace retrace::verifier
