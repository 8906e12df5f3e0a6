// SPDX-License-Identifier: MIT
// Queues the units of a memory plan on a device, wherever their tensors lie.
#pragma once

#include <functional>
#include <vector>

#include "kernels/cuda/layout.hpp"
#include "kernels/cuda/runtime.hpp"

namespace retrace::kernels::cuda {

/// Addresses of all tensors; null if a tensor is in a scratch slot or in a fused run's own memory.
using DeviceAddresses = std::vector<std::uint8_t*>;

/// What an op that runs by itself needs besides its operands.
struct OpRun {
    std::uint64_t seed = 0;
    const std::uint64_t* clock = nullptr;  ///< The step's number, on the device.
    std::uint8_t* workspace = nullptr;
    const Device& device;
    Stream stream;
};
void queue_single(const OpFacts& op, std::uint8_t* output, const DeviceAddresses& tensors, const OpRun& run);

/// Returns the length of the rows in which a run of elementwise ops goes, at least 1; `op` is its first.
std::uint64_t cols_of(const OpFacts& op);

class DeviceUnits {
public:
    /// All arguments must outlive it; `block` is the device memory that `layout` describes.
    DeviceUnits(const Program& program, const std::vector<OpFacts>& facts, const MemoryPlan& plan, const Layout& layout,
                const Device& device, std::uint8_t* block)
        : program_(program), facts_(facts), plan_(plan), layout_(layout), device_(device), block_(block) {}

    /// Copies what interpreted runs read to the device. `at` returns the addresses of a unit's tensors.
    Status<> upload(Queue& queue, const std::function<const DeviceAddresses&(std::uint32_t unit)>& at);
    /// Queues unit number `unit`; `at` has the addresses for which it was uploaded.
    void queue(std::uint32_t unit, const DeviceAddresses& at, const OpRun& run) const;

private:
    void add_rows(const PlanUnit& unit, const DeviceAddresses& at, std::vector<RowStep>& steps);
    void add_elements(const PlanUnit& unit, const DeviceAddresses& at, std::vector<ElementStep>& steps);
    void queue_run(const ElementRun& run, const OpFacts& op, Stream stream) const;
    void queue_rows(const RowRun& run, Stream stream) const;

    const Program& program_;
    const std::vector<OpFacts>& facts_;
    const MemoryPlan& plan_;
    const Layout& layout_;
    const Device& device_;
    std::uint8_t* const block_;
    std::vector<std::uint32_t> owners_;
    std::vector<ElementRun> runs_;        ///< Runs of the plan's elementwise units, in order.
    std::vector<RowRun> fused_runs_;      ///< Runs of the plan's fused runs, in order.
    std::vector<std::uint32_t> numbers_;  ///< By unit: its number among the runs of its kind.
};

}  // namespace retrace::kernels::cuda
