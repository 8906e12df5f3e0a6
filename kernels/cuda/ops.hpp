// SPDX-License-Identifier: MIT
// From an op's static facts to kernels in a queue.
#pragma once

#include <span>

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/ops/element.hpp"

namespace retrace::kernels::cuda {

/// One op to compute; all addresses are the device's.
struct DeviceCall {
    const OpFacts& facts;
    std::span<const std::uint8_t* const> inputs;
    std::uint8_t* output = nullptr;
    std::uint64_t seed = 0;
    const std::uint64_t* step = nullptr;  ///< A word on the device.
    std::uint8_t* workspace = nullptr;    ///< workspace_bytes(facts), aligned to 256 bytes.
    ProductUnit unit;
    Stream stream = nullptr;
};

/// Bytes that the op's kernels need besides operands and result.
std::uint64_t workspace_bytes(const OpFacts& facts);
/// Queues any op that is not elementwise (those are steps of run_elements).
void queue_op(const DeviceCall& call);
/// The op as an elementwise step; the caller fills in `data` or `slot` of its sides.
ElementStep element_step(const OpFacts& facts);

}  // namespace retrace::kernels::cuda
