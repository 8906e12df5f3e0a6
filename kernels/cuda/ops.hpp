// SPDX-License-Identifier: MIT
// Queues the kernels of an op, given its static facts.
#pragma once

#include <span>

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/ops/element.hpp"

namespace retrace::kernels::cuda {

/// One op to compute; all addresses are device addresses.
struct DeviceCall {
    const OpFacts& facts;
    std::span<const std::uint8_t* const> inputs;
    std::uint8_t* output = nullptr;
    std::uint64_t seed = 0;
    const std::uint64_t* step = nullptr;  ///< The step number, a word on the device.
    std::uint8_t* workspace = nullptr;    ///< workspace_bytes(facts), aligned to 256 bytes.
    ProductUnit unit;
    Stream stream = nullptr;
};

/// Returns the bytes that the op's kernels need besides operands and result.
std::uint64_t workspace_bytes(const OpFacts& facts);
/// Queues any op that is not elementwise (those are steps of run_elements).
void queue_op(const DeviceCall& call);
/// Returns the op as an elementwise step; the caller fills in `data` or `slot` of its sides.
ElementStep element_step(const OpFacts& facts);

}  // namespace retrace::kernels::cuda
