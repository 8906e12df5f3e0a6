// SPDX-License-Identifier: MIT
#include "node/artifacts/garbage_collector.hpp"

namespace retrace::node {

std::size_t GarbageCollector::collect(std::uint64_t height, const std::set<Hash32>& named) {
    std::size_t deleted = 0;
    std::map<Hash32, std::uint64_t> still_here;
    for (const Hash32& root : store_.roots()) {
        const auto [at, first] = last_named_.try_emplace(root, height);
        if (named.contains(root)) at->second = height;
        if (height <= at->second + retention_blocks_) {
            still_here.insert(*at);
            continue;
        }
        store_.remove(root, named);
        ++deleted;
    }
    last_named_ = std::move(still_here);
    return deleted;
}

}  // namespace retrace::node
