// SPDX-License-Identifier: MIT
#include "solver/worker/tensors.hpp"

namespace retrace::solver {

std::uint64_t bytes_of(const kernels::TensorRecord& record) {
    return kernels::geometry(record.dims).elements() * kernels::size_of(record.dtype);
}

void send_tensors(Channel& channel, std::span<const kernels::Tensor> tensors) {
    for (const kernels::Tensor& tensor : tensors) channel.send_raw(tensor.data);
}

void receive_tensors(Channel& channel, std::span<const kernels::TensorRecord> records,
                     std::vector<kernels::Tensor>& into) {
    into.resize(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
        const kernels::TensorRecord& record = records[i];
        kernels::Tensor& tensor = into[i];
        if (tensor.dtype != record.dtype || tensor.dims != record.dims || tensor.data.size() != bytes_of(record))
            tensor = kernels::zeros(record.dtype, record.dims);
        channel.receive_raw(tensor.data);
    }
}

}  // namespace retrace::solver
