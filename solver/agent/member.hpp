// SPDX-License-Identifier: MIT
// Computes the states of one member of a group: the first one, and the segments from base to base. Bits are those of
// LocalGroup, whatever the order in which messages arrived and however often the work was stopped. Worker thread.
#pragma once

#include <chrono>
#include <functional>

#include "solver/agent/task_cache.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "solver/rounds/member_view.hpp"
#include "solver/rounds/message_store.hpp"

namespace retrace::solver {

/// The segment that a member computes next. Its number of inner steps is decided while it trains.
struct SegmentOrder {
    std::uint64_t index = 0;                   ///< Of the state at its end,
    std::uint64_t start = 0;                   ///< and of that at its start.
    kernels::SegmentSpan span;                 ///< span.steps: most inner steps; 0: it only takes in records.
    std::vector<RecordView> records;           ///< From span.from to span.base - 1.
    std::vector<kernels::MaskRow> masks = {};  ///< Of its message, span.masks of them.
    bool awaits_masks = false;                 ///< Only its inner steps can be made yet: the masks are not known.
};

/// What a member has of its next segment: the header step of that state, if it is made, and the base of inner steps that
/// were stopped.
struct Begun {
    std::optional<std::uint64_t> made, inner_base;
};
/// Returns the member's next segment at this view: one whose inner steps it has begun, if their message may still be
/// sent; else the one with base `round`, or with the highest base that the limits of a segment allow, and then without
/// inner steps. Nullopt: nothing is due.
std::optional<SegmentOrder> next_segment(const MemberView& member, std::uint64_t next_state, const GroupTerms& terms,
                                         const Begun& begun = {});

/// Whether no round takes a message of inner steps from `base` any more, if `next_round` is the next that takes messages.
bool is_too_late(std::uint64_t base, std::uint32_t next_round, const GroupTerms& terms);
/// The base of the inner steps that a stopped segment has; nullopt: it has none.
std::optional<std::uint64_t> inner_base_of(const SegmentOrder& order, const std::optional<kernels::State>& suspended);
/// Whether a stopped segment has as many inner steps as the order allows.
bool has_all_steps(const SegmentOrder& order, const std::optional<kernels::State>& suspended);

/// The segment that ends in a state of the store with this header step, if it is one of those that `order` may become.
std::optional<kernels::SegmentSpan> span_of(const SegmentOrder& order, std::uint64_t header_step,
                                            std::uint32_t steps_max);

/// Watches inner steps: called with the number done before each; returns whether to make one more. The first is always
/// made.
using StepLimit = std::function<bool(std::uint32_t done)>;

/// What is to become of an order that runs: it goes on, it is interrupted, or no round takes its message any more, so
/// that inner steps that were done are lost.
enum class OrderState { going_on, interrupted, too_late };

/// The shared tensors from which a member's first state is made; fetched, and saved, if they are not in the store.
Result<std::vector<kernels::Tensor>, Unavailable> fetch_anchor(TaskCache& task_cache, const GroupMaterial& material,
                                                               MessageStore& messages, const EntryView& entry);

/// The stores of a party.
struct MemberStores {
    CheckpointStore& states;
    MessageStore& messages;
    std::chrono::milliseconds copy_every{2'000};  ///< PlanRunner::Copies::every of what it computes.
};

class Member {
public:
    /// All outlive the member. `view`: what the ledger says of its segments and of the records that they take in.
    Member(TaskCache& task_cache, GroupMaterial& material, const MemberStores& stores, std::uint32_t run,
           const MemberView& view);

    /// The first state, made anew; nullopt: `stop` requested a stop.
    Result<std::optional<kernels::State>> first_state(const kernels::StopToken& stop);
    /// Makes state 0 and saves it, if it is not in the store. False: `stop` requested a stop.
    Result<bool> enter(const kernels::StopToken& stop);
    /// Makes a state that was committed to once more and saves it, if tensors of it are lost or damaged: from the newest
    /// intact state before it, or from the first one, by the member's own segments and the messages that they take in.
    /// The bits are those of the lost state. False: `stop` requested a stop; the states that were made meanwhile are saved.
    /// Errors: the view lacks a segment on the way, or says of it less than its replay needs; a message that nobody serves.
    Result<bool> make_again(std::uint64_t index, const kernels::StopToken& stop);
    /// Fetches a message, checks it and saves it, if it is not in the store.
    Status<> fetch(const MessageKey& key, const std::vector<Hash32>& roots);
    /// The same for several of a round, several at a time. Each is saved as soon as it is there, and one that nobody serves
    /// keeps no other from being fetched. Returns the first problem. Ends early after `going_on` returned false.
    Status<> fetch(std::uint32_t round, const std::vector<SentMessage>& messages,
                   const std::function<bool()>& going_on);
    /// Makes state order.index and saves it with the member's message. False: it was stopped; `suspended` is then the
    /// state that it had reached, or none. The next call with an order for the same state goes on there, also with a
    /// higher base if no inner step is done. An order that awaits masks is stopped when its inner steps are made. So a member that is behind comes nearer with each round, however long it
    /// takes to take in the records. Errors: a message that nobody serves, a full disk.
    Result<bool> make(const SegmentOrder& order, const StepLimit& more, const std::function<OrderState()>& watch,
                      const kernels::StopToken& stop, std::optional<kernels::State>& suspended);
    /// Deletes a state that was never committed to and no longer can be, with its message: the segment that is to be made
    /// has base `base`. A state of a later round is an error: the node shows a past that this member has left. After a
    /// rollback (`undone`) it is none.
    Status<> withdraw(std::uint64_t index, std::uint64_t base, bool undone = false);

private:
    struct Start {
        kernels::State state;
        std::uint64_t place = 0;  ///< Of the segment, at which the state is.
    };
    /// Nullopt: `stop` requested a stop while a damaged state was made again.
    Result<std::optional<Start>> start_of(const SegmentOrder& order, std::uint64_t inner_end,
                                          std::optional<kernels::State>& suspended, const kernels::StopToken& stop);
    /// The member's segment that ends in state `index`, as it was computed.
    Result<SegmentOrder> order_of(std::uint64_t index) const;
    /// Brings `state` to the end of a segment that was computed before. False: `stop` requested a stop.
    Result<bool> replay(const SegmentOrder& order, kernels::State& state, const kernels::StopToken& stop);
    Status<> fetch_all(const SegmentOrder& order);
    /// Loads a message of a record. Throws std::runtime_error if it cannot be read.
    kernels::Message message(const SegmentOrder& order, const kernels::Position& at);
    Status<> save(const SegmentOrder& order, std::uint32_t steps, const kernels::State& state);
    Status<> save_first(const kernels::State& state);
    CheckpointKey key_of(std::uint64_t index) const { return {task_, run_, index}; }

    TaskCache& task_cache_;
    GroupMaterial& material_;
    CheckpointStore& states_;
    MessageStore& messages_;
    std::chrono::milliseconds copy_every_;
    const MemberView& view_;
    std::uint64_t task_;
    std::uint32_t run_;
    std::vector<kernels::Tensor> loaded_;  ///< The message that was loaded last.
};

}  // namespace retrace::solver
