// SPDX-License-Identifier: MIT
// What runs together and where every op's output lies during a step: decided once from the program, so the peak is
// known before running.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// BufferLocation of one op output.
struct BufferLocation {
    enum class Where : std::uint8_t {
        arena,    ///< At `at` bytes from the arena's beginning.
        state,    ///< In the memory of state tensor `at`, which it replaces.
        alias,    ///< The memory of tensor `at` (a reshape copies nothing).
        scratch,  ///< Never in memory as a whole: block by block in scratch slot `at` of its group.
        gathered, ///< Never in memory: its readers gather windows from the image, tensor `at`, as they go.
        band,     ///< Never in memory as a whole: chunk by chunk at `at` bytes in a thread's own memory.
    };
    Where where = Where::arena;
    std::uint64_t at = 0;
};

inline constexpr std::uint32_t kNoBand = 0xffffffff;

/// Ops that run together: one op; a run of elementwise ops over one geometry that goes block by block, with reshapes of
/// what the run does not compute itself between them; or a band.
struct PlanStep {
    std::uint32_t first = 0, count = 1;
    std::uint32_t band = kNoBand;  ///< Of MemoryPlan::bands.
    std::uint32_t end() const noexcept { return first + count; }
};

/// A run of ops each of which makes the n-th part of its output from the n-th parts of what the run computes
/// (exec/bands.hpp): layer norms, softmax and cross entropy, whole attention heads. It goes chunk by chunk, and what
/// only the run reads is never in memory as a whole.
struct Band {
    std::uint64_t granules = 0;    ///< Parts into which every tensor can be cut.
    std::uint64_t chunk = 1;       ///< Parts computed together.
    std::vector<bool> whole;       ///< By op of the run and input, in order: read as a whole by every chunk.
    std::vector<PlanStep> parts;       ///< Single ops and elementwise runs, in order.
    std::uint64_t bytes = 0;       ///< A thread's own memory for a chunk.
};

struct MemoryPlan {
    std::vector<BufferLocation> places;  ///< By op.
    std::vector<PlanStep> units;    ///< All ops, in order.
    std::vector<Band> bands;
    std::uint64_t bytes = 0;       ///< Of the arena.
    std::uint64_t band_bytes = 0;  ///< Of every thread: the largest of the bands' bytes.
};

inline constexpr std::uint32_t kScratchSlots = 12;  ///< Of one group; values beyond them go to the arena.

/// What may run together. Nothing of it changes a bit.
enum class Fusion : std::uint8_t {
    none = 1,      ///< Every op by itself.
    elements = 2,  ///< Elementwise runs.
    bands = 3,     ///< And runs that go by chunks.
};

struct PlanOptions {
    /// Every op alone, every output in a place of its own until its last reader, the state left alone (traces,
    /// tampering, reference).
    /// Otherwise reshapes alias their input and a state tensor that nobody reads any more is overwritten by its writer.
    bool isolated = false;
    bool gathers = true;  ///< The back end's kernels can gather windows themselves (BufferLocation::Where::gathered).
    Fusion fusion = Fusion::bands;
    /// Over 0: bands are without products and go row by row, each with at most so many bytes of its own;
    /// their parts are single ops.
    std::uint64_t row_bytes = 0;
};
/// A plan that `check_plan` found to be sound: that of `propose_plan`, or else the isolated one.
MemoryPlan plan_memory(const Program& program, const PlanOptions& options = {});
/// What the planner thinks of (for tests, which ask that it be sound).
MemoryPlan propose_plan(const Program& program, const PlanOptions& options = {});

}  // namespace retrace::kernels
