// SPDX-License-Identifier: MIT
#include "node/artifacts/charge.hpp"

#include <algorithm>

#include "node/artifacts/tensor_layout.hpp"

namespace retrace::node {

std::uint64_t artifact_charge(const std::vector<std::uint64_t>& file_sizes) noexcept {
    constexpr std::uint64_t kDiskBlock = 4096;
    constexpr std::uint64_t kFileMax = std::uint64_t{1} << 56;  // the sum of a few of these fits 64 bits
    std::uint64_t out = 0;
    for (const std::uint64_t size : file_sizes) {
        if (size > kFileMax) return UINT64_MAX;
        // A sender can scatter a file so that each of its blocks needs a record of 12 bytes in the file's extent tree.
        const std::uint64_t held = size + size / 256;
        out += (held + kDiskBlock - 1) / kDiskBlock * kDiskBlock + kDiskBlock;
    }
    return std::max(out, kArtifactBytesMin);
}

std::uint64_t tensor_charge(const kernels::TensorHeader& header) {
    return artifact_charge({kTensorFileHead + data_bytes(header), kernels::geometry(header.dims).tiles()});
}

std::uint64_t state_charge(std::uint64_t file_bytes) {
    return std::max(artifact_charge({file_bytes}), file_bytes / Hash32::size() * kArtifactBytesMin);
}

}  // namespace retrace::node
