// SPDX-License-Identifier: MIT
#include "node/artifacts/program_begins.hpp"

#include <algorithm>
#include <tuple>

namespace retrace::node {

Bytes ProgramBegins::take(const Hash32& root, const std::string& peer) {
    auto begin = begins_.extract({root, peer});
    if (!begin) return {};
    bytes_ -= begin.mapped().bytes.size();
    return std::move(begin.mapped().bytes);
}

void ProgramBegins::keep(const Hash32& root, const std::string& peer, Bytes bytes, bool is_first) {
    take(root, peer);
    if (bytes.empty()) return;
    bytes_ += bytes.size();
    begins_[{root, peer}] = {std::move(bytes), is_first};
    const auto worth = [&](const auto& entry) {
        const Begin& begin = entry.second;
        return std::tuple(entry.first.first == root, begin.is_first, SIZE_MAX - begin.bytes.size());
    };
    while (bytes_ > bytes_max_) {
        const auto least = std::min_element(begins_.begin(), begins_.end(),
                                            [&](const auto& a, const auto& b) { return worth(a) < worth(b); });
        bytes_ -= least->second.bytes.size();
        begins_.erase(least);
    }
}

void ProgramBegins::forget(const Hash32& root) {
    for (auto at = begins_.lower_bound({root, {}}); at != begins_.end() && at->first.first == root;) {
        bytes_ -= at->second.bytes.size();
        at = begins_.erase(at);
    }
}

}  // namespace retrace::node
