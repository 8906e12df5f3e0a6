// SPDX-License-Identifier: MIT
// The bytes that a quota is charged for an artifact: the disk space and memory that it takes, which for a small one are
// far more than its own bytes. The server charges uploads by these functions before it writes, and the store reports
// stored artifacts by them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/commit/commitment.hpp"

namespace retrace::node {

/// Minimum charge of an artifact. The two files of a tensor of one number take two blocks, two inodes and two entries
/// of a directory until its last tile arrives, beside the node's records of them in memory.
inline constexpr std::uint64_t kArtifactBytesMin = std::uint64_t{16} << 10;

/// Bytes charged for an artifact of files of these sizes: for each its blocks and one block for its inode and names,
/// and at least kArtifactBytesMin in all. A file system with blocks of at most 4 KiB holds no more than that.
/// UINT64_MAX for sizes that no disk has.
std::uint64_t artifact_charge(const std::vector<std::uint64_t>& file_sizes) noexcept;
/// Bytes charged for a tensor that is arriving, with both of its files. A complete tensor has only one.
std::uint64_t tensor_charge(const kernels::TensorHeader& header);
/// Bytes charged for a state's manifest, a file of `file_bytes` with 32 for each tensor that it names. The node keeps
/// these names in memory, twice while it settles its quota: up to 320 bytes each. Memory is much smaller than a disk,
/// so a name is charged as much as the smallest artifact, and a full quota takes a fiftieth of itself in memory.
std::uint64_t state_charge(std::uint64_t file_bytes);

}  // namespace retrace::node
