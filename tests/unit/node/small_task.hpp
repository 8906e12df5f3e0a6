// SPDX-License-Identifier: MIT
// A small perceptron on eight rows of zeros, compiled.
#pragma once

#include <gtest/gtest.h>

#include "node/platform/units.hpp"
#include "node/tasks/compile.hpp"
#include "node/tasks/data/import.hpp"

namespace retrace::node::test {

inline DataSet eight_zeros() {
    kernels::Tensor x = kernels::zeros(kernels::DType::f32, {8, 3}), y = kernels::zeros(kernels::DType::u8, {8});
    for (std::size_t i = 0; i < 8; ++i) y.data[i] = i % 2;
    auto data = make_xy(std::move(x), &y);
    if (!data) ADD_FAILURE() << data.error().message;
    data->name = "zeros";
    return std::move(*data);
}

/// Two steps in one segment; the folder is to be `out`.
inline CompileRequest small_request(const std::filesystem::path& out) {
    CompileRequest request;
    request.model.kind = "mlp";
    request.model.hidden = {4};
    request.training.batch = 4;
    request.task.steps = request.task.interval = 2;
    request.task.price_ceiling = *parse_coins("1");
    request.out = out;
    return request;
}

}  // namespace retrace::node::test
