// SPDX-License-Identifier: MIT
// Runs the units of a memory plan one by one, wherever their tensors lie.
#pragma once

#include "kernels/exec/fused_run_executor.hpp"
#include "kernels/exec/plan.hpp"
#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/runtime/tensor.hpp"

namespace retrace::kernels {

class UnitRunner {
public:
    using Addresses = std::vector<const std::uint8_t*>;
    /// What a step needs besides its tensors; `own` has a piece for every thread of `pool` (chunk_bytes of the plan).
    struct Step {
        std::uint64_t seed = 0, number = 0;
        ChunkMemory& own;
        ThreadPool& pool;
    };

    /// `program` must outlive the runner. With `reference` the element rules compute every op.
    UnitRunner(const Program& program, bool reference, const PlanOptions& options);

    const Program& program() const noexcept { return program_; }
    const MemoryPlan& plan() const noexcept { return plan_; }
    /// Scratch bytes of the kernel that needs most.
    std::uint64_t scratch_bytes() const noexcept { return scratch_; }
    /// Computes unit `unit` of the plan. `at` holds the address of every tensor that the unit reads or writes in
    /// memory; those of outputs are writable.
    void run(std::uint32_t unit, const Addresses& at, const Step& step) const;

private:
    bool is_gathered(std::uint32_t tensor) const;
    void run_op(std::uint32_t op, const Addresses& at, const Step& step) const;

    const Program& program_;
    const MemoryPlan plan_;
    std::vector<OpFacts> facts_;
    std::vector<CpuKernel> kernels_;            ///< Null: the reference runs the op.
    std::vector<ElementGroup> groups_;          ///< One for each elementwise unit, in order.
    std::vector<std::uint32_t> group_;          ///< By unit: its group, or kNoGroup.
    std::vector<FusedRunExecutor> fused_runs_;  ///< One for each of the plan's fused runs, in order.
    std::uint64_t scratch_ = 0;
};

}  // namespace retrace::kernels
