// SPDX-License-Identifier: MIT
// Tensors beside messages: whole, one after the other, of the shapes that the program records.
#pragma once

#include <span>

#include "kernels/runtime/tensor.hpp"
#include "solver/worker/channel.hpp"

namespace retrace::solver {

std::uint64_t bytes_of(const kernels::TensorRecord& record);

void send_tensors(Channel& channel, std::span<const kernels::Tensor> tensors);
/// As many as there are records; what `into` holds of the same size is written over. It is not to be used after a
/// throw.
void receive_tensors(Channel& channel, std::span<const kernels::TensorRecord> records,
                     std::vector<kernels::Tensor>& into);

}  // namespace retrace::solver
