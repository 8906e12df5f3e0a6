// SPDX-License-Identifier: MIT
// model.safetensors: u64 little-endian header length, a JSON header, then the tensors' bytes (the format of
// huggingface/safetensors). Written for models that users fetch, read strictly.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/program/program.hpp"
#include "kernels/runtime/tensor.hpp"

namespace retrace::solver {

struct NamedTensor {
    std::string name;
    kernels::Tensor tensor;
    bool operator==(const NamedTensor&) const = default;
};

struct TensorFile {
    std::vector<NamedTensor> tensors;  ///< In order of their data.
    std::map<std::string, std::string> metadata;
    bool operator==(const TensorFile&) const = default;
};

/// Names are unique and not "__metadata__" (asserted); any UTF-8.
Bytes encode_safetensors(const TensorFile& file);
/// The bytes before those of the tensors, whose `data` may be empty here.
Bytes encode_safetensors_head(const TensorFile& file);

/// Longest header that is read.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 16u << 20;
/// Refuses, with the name of the rule: truncated files, headers over the limit or in JSON that the format does not
/// allow, unknown dtypes, rank over 6, offsets that leave gaps, overlap or exceed the file, sizes that do not match
/// shapes, repeated names.
Result<TensorFile> decode_safetensors(View bytes);

/// Whether a state tensor of the built-in programs is a parameter. The optimiser's moments are named after their
/// parameter with the suffix .m, .v or .momentum.
bool is_parameter(const std::string& name);

}  // namespace retrace::solver
