// SPDX-License-Identifier: MIT
// Offsets of all data of a program in the one block of device memory, computed before the block is allocated.
#pragma once

#include <optional>

#include "kernels/cuda/committer.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/recipe_match.hpp"
#include "kernels/exec/plan.hpp"
#include "kernels/ops/element.hpp"

namespace retrace::kernels::cuda {

inline std::uint64_t aligned_bytes(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }
inline std::uint64_t tensor_bytes(const TensorRecord& record) {
    return geometry(record.dims).elements() * size_of(record.dtype);
}

/// Offsets from the beginning of the block, multiples of 256.
struct Layout {
    std::vector<std::uint64_t> statics;  ///< Offsets of states, constants and data sets.
    std::uint64_t clock = 0;             ///< The step's number.
    std::uint64_t element_steps = 0;     ///< An ElementStep for every elementwise op outside fused runs.
    std::uint64_t row_steps = 0;         ///< A RowStep for every op of the plan's fused runs.
    std::uint64_t metric_values = 0;
    std::uint64_t slab = 0;  ///< The slab, sized for the fused run that needs most; used if `slab_bytes` is not 0.
    std::uint64_t slab_bytes = 0;
    /// For the op of the device's program that needs most, or the state's digests.
    std::uint64_t workspace = 0, workspace_bytes = 0;
    std::uint64_t commitment = 0;  ///< Memory of a DeviceCommitter.
    std::uint64_t arena = 0;
    std::uint64_t bytes = 0;
    std::uint32_t steps = 0, fused_run_steps = 0;  ///< Number of element steps and of row steps.
    std::vector<std::uint32_t> metrics;            ///< Ops whose output is a metric.
};
/// Returns the state's tensors for a DeviceCommitter; `at` holds the addresses of tensors, or is empty.
std::vector<DeviceCommitter::Entry> committed_tensors(const Program& program, const std::vector<std::uint8_t*>& at);
/// With `room`, states and the plan's arena lie in that many bytes at `arena`, as far as they are on the device at all.
Layout lay_out(const Program& program, const std::vector<OpFacts>& facts, const MemoryPlan& plan,
               std::optional<std::uint64_t> room = std::nullopt);

/// Returns the addresses of all tensors of a step; null if a tensor is in a scratch slot or in a fused
/// run's own memory.
std::vector<std::uint8_t*> addresses(const Program& program, const MemoryPlan& plan, const Layout& layout,
                                     std::uint8_t* statics, std::uint8_t* arena);

/// An elementwise unit: its first step among all, the scratch slots that its steps use, and its parts.
struct ElementRun {
    std::uint32_t first = 0, slots = 0;
    bool by_quads = false;  ///< All steps do (goes_by_quads).
    std::vector<RunPart> parts;
};
/// A fused run: its first step among all row steps, the bytes of a block's own memory, its rows, and its parts.
struct RowRun {
    std::uint32_t first = 0, own_bytes = 0;
    std::uint64_t rows = 0;
    std::vector<RunPart> parts;
    bool is_long() const noexcept { return own_bytes > kSharedRowBytes; }
};
/// Returns, for each tensor, the tensor whose memory it shares, with all aliases resolved.
std::vector<std::uint32_t> owners_of(const Program& program, const MemoryPlan& plan);
/// Returns the steps of a fused run of whole rows (PlanOptions::row_bytes).
std::vector<RowStep> placed_row_steps(const Program& program, const std::vector<OpFacts>& facts, const MemoryPlan& plan,
                                      const PlanUnit& unit, const std::vector<std::uint8_t*>& at,
                                      const std::vector<std::uint32_t>& owners);
/// Returns the op's elementwise step with the locations of its operands.
ElementStep placed_step(const Program& program, const OpFacts& facts, std::uint32_t op, const MemoryPlan& plan,
                        const std::vector<std::uint8_t*>& at);

}  // namespace retrace::kernels::cuda
