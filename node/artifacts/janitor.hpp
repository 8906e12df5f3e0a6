// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>

#include "node/artifacts/store.hpp"

namespace retrace::node {

/// Deletes from a store what no task has named for a while: programs, data and states of tasks that are over.
/// Not thread-safe; the store is.
class Janitor {
public:
    /// `store` outlives the janitor. What is there and not named counts as named when it is first seen, so a restart
    /// deletes nothing early.
    Janitor(Store& store, std::uint64_t afterlife_blocks) : store_(store), afterlife_(afterlife_blocks) {}

    /// `named`: roots that tasks at `height` still need. Returns how many artifacts were deleted.
    std::size_t sweep(std::uint64_t height, const std::set<Hash32>& named);

private:
    Store& store_;
    std::uint64_t afterlife_;
    std::map<Hash32, std::uint64_t> last_named_;
};

}  // namespace retrace::node
