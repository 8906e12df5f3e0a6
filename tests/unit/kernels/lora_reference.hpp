// SPDX-License-Identifier: MIT
// A second implementation of the built-in GPT with low-rank corrections, in double precision and plain loops. It shares
// only the names of the tensors with the builder, the ops and their gradients.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace retrace::kernels::testing {

struct ReferenceGpt {
    std::uint64_t tokens = 0, vocabulary = 0, width = 0, layers = 0, heads = 0, rank = 0;
    double alpha = 1;
    /// Row-major, keyed by the names of the program's state tensors.
    std::map<std::string, std::vector<double>> tensors;

    /// Mean cross entropy of predicting the next token; x and labels hold whole samples of `tokens`.
    double loss(const std::vector<std::uint8_t>& x, const std::vector<std::uint8_t>& labels) const;
    /// Slope of the loss along one element, by a finite difference.
    double slope(const std::string& tensor, std::uint64_t element, const std::vector<std::uint8_t>& x,
                 const std::vector<std::uint8_t>& labels);
};

}  // namespace retrace::kernels::testing
