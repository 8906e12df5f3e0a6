// SPDX-License-Identifier: MIT
// The built-in GPT with low-rank corrections once more, in double precision and plain loops: it shares
// nothing with the builder, the ops or their gradients but the names of the tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace retrace::kernels::testing {

struct ReferenceGpt {
    std::uint64_t tokens = 0, vocabulary = 0, width = 0, layers = 0, heads = 0, rank = 0;
    double alpha = 1;
    /// Row-major, by the names that the program's state tensors have.
    std::map<std::string, std::vector<double>> tensors;

    /// Mean cross entropy of the token that follows each token; x and labels hold whole samples of `tokens`.
    double loss(const std::vector<std::uint8_t>& x, const std::vector<std::uint8_t>& labels) const;
    /// The slope of the loss along one element, from two losses beside it.
    double slope(const std::string& tensor, std::uint64_t element, const std::vector<std::uint8_t>& x,
                 const std::vector<std::uint8_t>& labels);
};

}  // namespace retrace::kernels::testing
