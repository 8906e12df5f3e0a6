// SPDX-License-Identifier: MIT
// One party's own replay of a segment for one dispute: computed from the agreed start, kept as long as the
// dispute may ask for it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>

#include "kernels/commit/commitment.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/program/codec.hpp"
#include "solver/run/preemption.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::verifier {

/// What a replay needs; everything outlives the replayer.
struct ReplaySetup {
    const kernels::CommittedProgram* program = nullptr;  ///< Part of every state root.
    const kernels::CommittedProgram* played = nullptr;   ///< Whose ops run: `program`, or the initialiser.
    solver::StepRunner* runner = nullptr;                ///< Runs `played`.
    kernels::ThreadPool* pool = nullptr;
    std::uint64_t seed = 0;
    std::vector<const kernels::Tensor*> datasets;
};

/// Ends a call that was told to stop. What it had reached is kept, and the same call goes on from there.
class ReplayStopped final : public solver::PutOff {};

/// Not thread-safe. What was computed for the present step, op and tile is kept. One dispute costs about one and a half
/// executions of the segment and a commitment for each root that is asked for (roots_at). Beside the start
/// there are two states at once: the one that is kept and the one that goes on.
/// Replays of one segment for several disputes share its start and the roots that any of them found, and each begins
/// from the nearest state that another one keeps; none moves another's.
class Replayer {
public:
    /// A segment: `start` (checked against its root by the caller) to step `last_step` > start.step.
    Replayer(ReplaySetup setup, kernels::State start, std::uint64_t last_step);
    /// A seeded initialiser: one step without an input state, whose result is the state of step 0.
    explicit Replayer(ReplaySetup setup);
    ~Replayer();
    Replayer(Replayer&&) noexcept;
    /// Another replay of the same segment, for another dispute.
    Replayer beside() const;

    /// Asked between steps from now on, and between the ops of a step: calls may end with ReplayStopped. Null: none do.
    void set_preemption(solver::Preemption* preemption) noexcept { preemption_ = preemption; }

    bool initialiser() const noexcept;
    const ReplaySetup& setup() const noexcept;
    std::uint64_t last_step() const noexcept;
    /// Memory that is kept: by this replay alone, and of the start, which all replays of the segment have once.
    std::uint64_t own_bytes() const;
    std::uint64_t start_bytes() const;

    /// Root after the last step; the state roots between are not computed.
    Hash32 end_root();
    const kernels::State& end_state();
    /// Roots of the states at `steps` (ascending, none before `low`), as a search above `low` asks for them.
    /// The state at `low` is kept, or from the start on the one half way: the first call executes the segment,
    /// the second goes up to half of it to its own `low` and a sixteenth further, and later ones start from what
    /// is kept. Only these states are committed to.
    std::vector<Hash32> roots_at(std::uint64_t low, std::span<const std::uint64_t> steps);
    Hash32 root_at(std::uint64_t step);
    /// Root after the last step, in one execution with the roots at `steps` of the first search, which are then known.
    Hash32 end_root_beside(std::span<const std::uint64_t> steps);

    // One step t of the segment (0 for an initialiser).
    const kernels::StateCommitment& input_of(std::uint64_t t);  ///< Not for an initialiser.
    const kernels::StateCommitment& output_of(std::uint64_t t);
    const std::vector<Hash32>& trace_of(std::uint64_t t);  ///< Output roots in program order.
    const merkle::TileTree& trace_tree_of(std::uint64_t t);
    /// Tensor `tensor` of the played program in step t: state before the step, constant, data set or op
    /// output.
    const kernels::Tensor& tensor_of(std::uint64_t t, std::uint32_t tensor);
    /// Computes the output of `op` and its inputs in one run, for tensor_of.
    void prepare_op(std::uint64_t t, std::uint32_t op);
    const merkle::TileTree& tiles_of(std::uint64_t t, std::uint32_t tensor);
    /// Carried values of tile `tile` of a chain op's output after `links` links (over 0, below their number), as
    /// the bytes of a tile. Those that were asked for are kept, and the next ones go on from them.
    const Bytes& partial_of(std::uint64_t t, std::uint32_t op, std::uint64_t tile, std::uint64_t links);

private:
    struct Segment;    // What all replays of it share.
    struct StepCache;  // What is known about one step.

    explicit Replayer(std::shared_ptr<Segment> segment);
    /// As roots_at; the state at `steps[half_way]` is what may be kept.
    std::vector<Hash32> find_roots(std::uint64_t low, std::span<const std::uint64_t> steps, std::size_t half_way);
    const kernels::State& state_at(std::uint64_t step);
    /// The cursor's training, advanced to `step`; the cursor itself follows once its state() is asked for.
    std::unique_ptr<solver::Training> train_to(std::uint64_t step);
    /// This replay's state somewhere in the segment: moved forward, or begun anew.
    kernels::State* cursor() const;
    /// The same at `step` or the nearest before it of all that are kept, the others' too.
    kernels::State& cursor_before(std::uint64_t step);
    void drop_cursor();
    /// False: it was told to stop.
    bool advance_to(solver::Training& training, std::uint64_t step);
    void step_once(kernels::State& state);
    void stop_if_told() const;
    /// The state to search from, for roots from step `first` on: what was put off, or the one at `low`.
    kernels::State search_start(std::uint64_t low, std::uint64_t first);
    StepCache& cache_of(std::uint64_t t);

    std::shared_ptr<Segment> segment_;
    std::uint64_t number_ = 0;  // Among the replays of the segment.
    std::optional<kernels::State> end_;
    std::optional<kernels::State> stopped_;  // Where a search was told to stop.
    std::unique_ptr<StepCache> step_;
    solver::Preemption* preemption_ = nullptr;
};

/// The inputs of an op, whole, as the element rules read them.
class WholeInputs final : public kernels::ElementSource {
public:
    explicit WholeInputs(std::vector<const kernels::Tensor*> inputs) : inputs_(std::move(inputs)) {}
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override;
    /// By slot.
    std::vector<const std::uint8_t*> data() const;

private:
    std::vector<const kernels::Tensor*> inputs_;
};
WholeInputs whole_inputs(Replayer& truth, std::uint64_t t, std::uint32_t op);

}  // namespace retrace::verifier
