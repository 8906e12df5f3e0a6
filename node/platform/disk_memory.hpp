// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>

#include "merkle/base/result.hpp"

namespace retrace::node {

/// Allocations of at least this many bytes are large.
inline constexpr std::uint64_t kLargeAllocation = 1 << 20;

/// From now on large allocations of this process (`operator new`) lie in files without names in `folder`, of which the
/// system keeps in memory what there is room for: the states that a party keeps while a worker process trains. An
/// allocation for which the disk has no room is ordinary memory. Errors: no such files in the folder, or a sanitizer's
/// build, whose allocator stays.
Status<> put_large_memory_on_disk(const std::filesystem::path& folder);
/// Bytes that lie there now.
std::uint64_t memory_on_disk();

}  // namespace retrace::node
