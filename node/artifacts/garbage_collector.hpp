// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>

#include "node/artifacts/store.hpp"

namespace retrace::node {

/// Deletes artifacts that no task has named for a while: programs, data and states of finished tasks. Not thread-safe;
/// the store is.
class GarbageCollector {
public:
    /// `store` outlives the collector. An artifact that is stored but not named counts as named when it is first seen,
    /// so a restart deletes nothing early.
    GarbageCollector(Store& store, std::uint64_t retention_blocks)
        : store_(store), retention_blocks_(retention_blocks) {}

    /// `named`: roots that tasks at `height` still need. Returns how many artifacts were deleted.
    std::size_t collect(std::uint64_t height, const std::set<Hash32>& named);

private:
    Store& store_;
    std::uint64_t retention_blocks_;
    std::map<Hash32, std::uint64_t> last_named_;
};

}  // namespace retrace::node
