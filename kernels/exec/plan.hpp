// SPDX-License-Identifier: MIT
// Decides which ops run together and where every op's output lies during a step. The plan follows from the program
// alone, so the peak memory is known before running.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// The location of one op's output.
struct BufferLocation {
    enum class Where : std::uint8_t {
        arena,     ///< At `at` bytes from the arena's beginning.
        state,     ///< In the memory of state tensor `at`, which it replaces.
        alias,     ///< The memory of tensor `at` (a reshape copies nothing).
        scratch,   ///< Never in memory as a whole: computed block by block in scratch slot `at` of its unit.
        gathered,  ///< Never in memory: its readers gather windows from the image, tensor `at`, themselves.
        chunk,     ///< Never in memory as a whole: computed chunk by chunk at `at` bytes in a thread's own memory.
    };
    Where where = Where::arena;
    std::uint64_t at = 0;
};

inline constexpr std::uint32_t kNoFusedRun = 0xffffffff;

/// Ops that run together: one op; a run of elementwise ops over one geometry that goes block by block and may contain
/// reshapes of tensors computed outside the run; or a fused run.
struct PlanUnit {
    std::uint32_t first = 0, count = 1;
    std::uint32_t fused_run = kNoFusedRun;  ///< Index in MemoryPlan::fused_runs; kNoFusedRun for no fused run.
    std::uint32_t end() const noexcept { return first + count; }
};

/// A run of ops each of which computes the n-th part of its output from the n-th parts of the run's results
/// (exec/fused_runs.hpp): layer norms, softmax and cross entropy, whole attention heads. It goes chunk by chunk, and
/// values that only the run reads are never in memory as a whole.
struct FusedRun {
    std::uint64_t parts = 0;      ///< Parts into which every tensor can be cut.
    std::uint64_t chunk = 1;      ///< Parts computed together.
    std::vector<bool> whole;      ///< For each op of the run and each of its inputs, in order: whether every chunk
                                  ///< reads the whole input.
    std::vector<PlanUnit> units;  ///< Single ops and elementwise runs, in order.
    std::uint64_t bytes = 0;      ///< Bytes of a thread's own memory for a chunk.
};

struct MemoryPlan {
    std::vector<BufferLocation> places;  ///< Location of each op's output.
    std::vector<PlanUnit> units;         ///< All ops, in order.
    std::vector<FusedRun> fused_runs;
    std::uint64_t bytes = 0;        ///< Bytes of the arena.
    std::uint64_t chunk_bytes = 0;  ///< Bytes for each thread: the largest of the fused runs' bytes.
};

inline constexpr std::uint32_t kScratchSlots = 12;  ///< Scratch slots of one unit; further values go to the arena.

/// Which ops may run together. The setting does not change a bit of the results.
enum class Fusion : std::uint8_t {
    none = 1,      ///< Every op by itself.
    elements = 2,  ///< Elementwise runs.
    runs = 3,      ///< Elementwise runs and FusedRun.
};

struct PlanOptions {
    /// Every op runs alone, every output has its own place until its last reader, and the state is not overwritten (for
    /// traces, tampering, reference). Otherwise reshapes alias their input, and a state tensor that no op reads any
    /// more is overwritten by its writer.
    bool isolated = false;
    bool gathers = true;  ///< The back end's kernels can gather windows themselves (BufferLocation::Where::gathered).
    Fusion fusion = Fusion::runs;
    /// If not 0, fused runs contain no products and go row by row, each with at most this many bytes of its own memory;
    /// their parts are single ops.
    std::uint64_t row_bytes = 0;
};
/// Returns a plan that `check_plan` (or `check_row_runs`) accepts: that of `propose_plan`, or else the isolated one.
MemoryPlan plan_memory(const Program& program, const PlanOptions& options = {});
/// Returns the planner's unchecked proposal, for tests that check that it is sound.
MemoryPlan propose_plan(const Program& program, const PlanOptions& options = {});

}  // namespace retrace::kernels
