// SPDX-License-Identifier: MIT
// Models that keep, or try to keep, other state than parameters between two steps, and malformed files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace retrace::testing {

struct Buffer {
    std::string name;
    std::vector<std::int64_t> sizes;
    bool whole = false;  ///< int64 zeros; otherwise float32 values of 0.5.
};
/// y = x · scale, then `body` (lines of TorchScript that change y), then a linear head with five classes. The module
/// also has the attributes k, an int, and list, a list of one tensor.
struct StateModel {
    std::string body;
    std::vector<std::int64_t> sample;
    std::vector<Buffer> buffers;
};
void make_state_model(const StateModel& model, const std::filesystem::path& path);
/// Returns the first number of each buffer after LibTorch's forward pass in training mode.
std::map<std::string, double> buffers_after(const std::filesystem::path& path, const std::vector<std::int64_t>& sizes,
                                            const std::vector<float>& x);

/// Kinds of malformed files: "strides", "overflow" (a parameter extends beyond its storage), "listed" (a tensor in a
/// list does), "short" (storage missing from the file), "class" (a native object in the pickle), "name" (one with
/// terminal escape codes), "deep" (600 nested modules).
void make_lying_model(const std::string& how, const std::filesystem::path& path);

}  // namespace retrace::testing
