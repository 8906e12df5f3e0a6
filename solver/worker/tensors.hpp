// SPDX-License-Identifier: MIT
// Sends and receives tensors beside messages: whole, one after the other, in the shapes that the program records.
#pragma once

#include <span>

#include "kernels/runtime/tensor.hpp"
#include "solver/worker/channel.hpp"

namespace retrace::solver {

std::uint64_t bytes_of(const kernels::TensorRecord& record);

void send_tensors(Channel& channel, std::span<const kernels::Tensor> tensors);
/// Receives one tensor for each record and reuses the buffers of `into` that match. `into` must not be used after an
/// exception.
void receive_tensors(Channel& channel, std::span<const kernels::TensorRecord> records,
                     std::vector<kernels::Tensor>& into);

}  // namespace retrace::solver
