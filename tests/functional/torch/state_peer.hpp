// SPDX-License-Identifier: MIT
// Models that keep, or try to keep, more than parameters between two steps, and files that lie.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace retrace::testing {

struct Buffer {
    std::string name;
    std::vector<std::int64_t> sizes;
    bool whole = false;  ///< int64 zeros, else halves in float32.
};
/// y = x · scale, `body` (lines of TorchScript that change y), a linear head with five classes. There are
/// also the attributes k, an int, and list, a list of one tensor.
struct StateModel {
    std::string body;
    std::vector<std::int64_t> sample;
    std::vector<Buffer> buffers;
};
void make_state_model(const StateModel& model, const std::filesystem::path& path);
/// The first number of each buffer after LibTorch's forward pass in training mode.
std::map<std::string, double> buffers_after(const std::filesystem::path& path,
                                            const std::vector<std::int64_t>& sizes,
                                            const std::vector<float>& x);

/// "strides", "overflow" (a parameter that reaches beyond its numbers), "listed" (a tensor in a
/// list does), "short" (numbers that the file does not have), "class" (a native object in the pickle), "name" (one
/// that steers a terminal), "deep" (600 modules, each in the next).
void make_lying_model(const std::string& how, const std::filesystem::path& path);

}  // namespace retrace::testing
