// SPDX-License-Identifier: MIT
// One party's own replay of a segment for one dispute: it is computed from the agreed start and kept while the dispute
// may need it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>

#include "kernels/commit/commitment.hpp"
#include "kernels/ops/element.hpp"
#include "solver/run/preemption.hpp"
#include "verifier/replay/replay_steps.hpp"

namespace retrace::verifier {

/// Ends a preempted call. Its progress is kept, and the same call resumes from there.
class ReplayPreempted final : public solver::Preempted {};

/// Not thread-safe. Results for the current step, op and tile are cached. One dispute costs about one and a half
/// executions of the segment and one commitment for each requested root (roots_at). Besides the start, two states exist
/// at once: the kept one and the one being advanced.
/// Replays of one segment for several disputes share its start and the roots that any of them found. Each one starts
/// from the nearest state that any of them keeps, and does not move another's state.
class Replayer {
public:
    /// Replays a segment: from `start` (checked against its root by the caller), which is state `first`, to state
    /// `last` > `first`. `pool` outlives the replayer.
    Replayer(std::unique_ptr<ReplaySteps> steps, kernels::ThreadPool& pool, kernels::State start, std::uint64_t first,
             std::uint64_t last);
    /// Replays a seeded initialiser: one step without an input state, whose result is state 0.
    Replayer(std::unique_ptr<ReplaySteps> steps, kernels::ThreadPool& pool);
    /// The same for a program. The number of `start` is its step.
    Replayer(ReplaySetup setup, kernels::State start, std::uint64_t last_step);
    explicit Replayer(ReplaySetup setup);
    ~Replayer();
    Replayer(Replayer&&) noexcept;
    /// Another replay of the same segment, for another dispute.
    Replayer beside() const;

    /// From now on, calls check `preemption` between steps and between the ops of a step, and may end with
    /// ReplayPreempted. Null: no preemption.
    void set_preemption(solver::Preemption* preemption) noexcept { preemption_ = preemption; }

    bool initialiser() const noexcept;
    const ReplaySteps& steps() const noexcept;
    std::uint64_t last_step() const noexcept;
    /// Memory kept by this replay alone, and memory of the start, which all replays of the segment share.
    std::uint64_t own_bytes() const;
    std::uint64_t start_bytes() const;

    /// Root after the last step; roots of intermediate states are not computed.
    Hash32 end_root();
    const kernels::State& end_state();
    /// Roots of the states `steps` (ascending, none before `low`), as requested by a search above `low`. Keeps the
    /// state at `low`, or the one half way if `low` is the start. The first call executes the segment, the second
    /// executes up to half of it to reach its own `low` and a sixteenth further, and later calls start from the kept
    /// state. Only the requested states are committed to.
    std::vector<Hash32> roots_at(std::uint64_t low, std::span<const std::uint64_t> steps);
    Hash32 root_at(std::uint64_t step);
    /// Root after the last step. The same execution computes the roots at `steps` of the first search, which are then
    /// cached.
    Hash32 end_root_beside(std::span<const std::uint64_t> steps);

    // The following are about one step t of the segment (0 for an initialiser).
    /// Seed and step as the ops see them.
    PlayedStep played(std::uint64_t t);
    std::vector<const kernels::Tensor*> datasets(std::uint64_t t);  ///< As ReplaySteps::datasets_at.
    const kernels::StateCommitment& input_of(std::uint64_t t);      ///< Not available for an initialiser.
    const kernels::StateCommitment& output_of(std::uint64_t t);
    const std::vector<Hash32>& trace_of(std::uint64_t t);  ///< Output roots in program order.
    const merkle::TileTree& trace_tree_of(std::uint64_t t);
    /// Tensor `tensor` of the played program in step t: state before the step, constant, data set or op output.
    const kernels::Tensor& tensor_of(std::uint64_t t, std::uint32_t tensor);
    /// Computes the outputs of `op` and of its input ops in one run, for tensor_of.
    void prepare_op(std::uint64_t t, std::uint32_t op);
    const merkle::TileTree& tiles_of(std::uint64_t t, std::uint32_t tensor);
    /// Carried values of tile `tile` of a chain op's output after `links` links (above 0, below their number), as tile
    /// bytes. Requested partials are cached, and later ones continue from them.
    const Bytes& partial_of(std::uint64_t t, std::uint32_t op, std::uint64_t tile, std::uint64_t links);

private:
    struct Segment;    // State that all replays of the segment share.
    struct StepCache;  // Cached results for one step.

    explicit Replayer(std::shared_ptr<Segment> segment);
    /// As roots_at; the state at `steps[half_way]` may be kept.
    std::vector<Hash32> find_roots(std::uint64_t low, std::span<const std::uint64_t> steps, std::size_t half_way);
    kernels::State& state_at(std::uint64_t t);
    /// The state that step t starts from, which is blank for an initialiser.
    kernels::State& start_of(std::uint64_t t);
    /// Advances a computation of the cursor to state t; the cursor itself is updated when its state() is called.
    std::unique_ptr<solver::Computation> compute_to(std::uint64_t t);
    /// The state that this replay keeps somewhere in the segment; null if it keeps none.
    kernels::State* cursor() const;
    /// Returns the cursor, set to the kept state nearest before or at the state with this `replay_step`, including those
    /// of other replays.
    kernels::State& cursor_before(std::uint64_t replay_step);
    void drop_cursor();
    /// Returns false if it was preempted.
    bool advance_to(solver::Computation& computation, std::uint64_t replay_step);
    /// Makes step t of `state`.
    void step_once(kernels::State& state, std::uint64_t t);
    void stop_if_preempted() const;
    /// The state from which a search for roots of state `first` and later starts: where it was preempted, or the one at
    /// `low`.
    kernels::State search_start(std::uint64_t low, std::uint64_t first);
    StepCache& cache_of(std::uint64_t t);

    std::shared_ptr<Segment> segment_;
    std::uint64_t number_ = 0;  // Number among the replays of the segment.
    std::optional<kernels::State> end_;
    std::optional<kernels::State> stopped_;  // State at which a search was preempted.
    std::unique_ptr<StepCache> step_;
    solver::Preemption* preemption_ = nullptr;
};

/// The whole inputs of an op, as the element rules read them.
class WholeInputs final : public kernels::ElementSource {
public:
    explicit WholeInputs(std::vector<const kernels::Tensor*> inputs) : inputs_(std::move(inputs)) {}
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override;
    /// Indexed by slot.
    std::vector<const std::uint8_t*> data() const;

private:
    std::vector<const kernels::Tensor*> inputs_;
};
WholeInputs whole_inputs(Replayer& replay, std::uint64_t t, std::uint32_t op);

}  // namespace retrace::verifier
