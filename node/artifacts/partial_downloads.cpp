// SPDX-License-Identifier: MIT
#include "node/artifacts/partial_downloads.hpp"

#include <algorithm>
#include <tuple>

namespace retrace::node {

Bytes PartialProgramDownloads::take(const Hash32& root, const std::string& peer) {
    auto download = downloads_.extract({root, peer});
    if (!download) return {};
    bytes_ -= download.mapped().bytes.size();
    return std::move(download.mapped().bytes);
}

void PartialProgramDownloads::keep(const Hash32& root, const std::string& peer, Bytes bytes, bool is_first) {
    take(root, peer);
    if (bytes.empty()) return;
    bytes_ += bytes.size();
    downloads_[{root, peer}] = {std::move(bytes), is_first};
    const auto worth = [&](const auto& entry) {
        const PartialDownload& download = entry.second;
        return std::tuple(entry.first.first == root, download.is_first, SIZE_MAX - download.bytes.size());
    };
    while (bytes_ > bytes_max_) {
        const auto least = std::min_element(downloads_.begin(), downloads_.end(),
                                            [&](const auto& a, const auto& b) { return worth(a) < worth(b); });
        bytes_ -= least->second.bytes.size();
        downloads_.erase(least);
    }
}

void PartialProgramDownloads::forget(const Hash32& root) {
    for (auto at = downloads_.lower_bound({root, {}}); at != downloads_.end() && at->first.first == root;) {
        bytes_ -= at->second.bytes.size();
        at = downloads_.erase(at);
    }
}

}  // namespace retrace::node
