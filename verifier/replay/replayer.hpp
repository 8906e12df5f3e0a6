// SPDX-License-Identifier: MIT
// One party's own account of a segment: computed from the agreed start, kept as long as a dispute may ask for
// it.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "kernels/commit/commitment.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/program/codec.hpp"
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

/// Not thread-safe. What is asked for in the order of the dispute's levels costs at most one re-execution of
/// the segment for each level A to D; what was computed for the present step, op and tile is kept.
class Replayer {
public:
    /// A segment: `start` (checked against its root by the caller) to step `last_step` > start.step.
    Replayer(ReplaySetup setup, kernels::State start, std::uint64_t last_step);
    /// A seeded initialiser: one step without an input state, whose result is the state of step 0.
    explicit Replayer(ReplaySetup setup);
    ~Replayer();
    Replayer(Replayer&&) noexcept;

    bool initialiser() const noexcept { return initialiser_; }
    const ReplaySetup& setup() const noexcept { return setup_; }
    std::uint64_t last_step() const noexcept { return last_step_; }

    /// Root after the last step; the state roots between are not computed.
    Hash32 end_root();
    const kernels::State& end_state();
    /// Root of the state at `step` of the segment; the first call computes them all.
    Hash32 root_at(std::uint64_t step);
    /// Drops everything computed, so that the next question computes anew (a mismatch may be a memory fault).
    void forget();

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
    /// Carried values of tile `tile` of a chain op's output after link 0, 1, … links - 2, each as the bytes
    /// of a tile.
    const std::vector<Bytes>& partials_of(std::uint64_t t, std::uint32_t op, std::uint64_t tile);

private:
    struct StepCache;  // What is known about one step.

    const kernels::State& state_at(std::uint64_t step);
    /// The cursor's training, advanced to `step`; the cursor itself follows once its state() is asked for.
    std::unique_ptr<solver::Training> train_to(std::uint64_t step);
    StepCache& cache_of(std::uint64_t t);

    ReplaySetup setup_;
    bool initialiser_ = false;
    kernels::State start_;
    std::uint64_t last_step_ = 0;
    std::optional<kernels::State> cursor_;  // Somewhere in the segment; moved forward, or started anew.
    std::optional<kernels::State> end_;
    std::vector<Hash32> roots_;  // Of start.step, start.step + 1, … once asked for.
    std::map<std::uint32_t, kernels::Tensor> constants_;
    std::unique_ptr<StepCache> step_;
};

/// The inputs of an op, whole, as the element rules read them.
class WholeInputs final : public kernels::ElementSource {
public:
    explicit WholeInputs(std::vector<const kernels::Tensor*> inputs) : inputs_(std::move(inputs)) {}
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override;

private:
    std::vector<const kernels::Tensor*> inputs_;
};
WholeInputs whole_inputs(Replayer& truth, std::uint64_t t, std::uint32_t op);

}  // namespace retrace::verifier
