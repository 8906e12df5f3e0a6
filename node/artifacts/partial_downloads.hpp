// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <utility>

#include "merkle/base/bytes.hpp"

namespace retrace::node {

/// What peers sent of programs before they failed. It cannot be checked before it is complete, so pieces of two peers
/// are never joined, and no peer's failure discards what another has sent. Not thread-safe.
class PartialProgramDownloads {
public:
    /// `bytes_max`: limit on all beginnings together; more than one program.
    explicit PartialProgramDownloads(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    /// Returns and removes what `peer` has sent of the program; empty if nothing.
    Bytes take(const Hash32& root, const std::string& peer);
    /// Keeps what `peer` has sent. Above the limit, programs other than this one go first, then beginnings of peers
    /// that were not asked first (strangers, in any number), and the largest of these before the others.
    void keep(const Hash32& root, const std::string& peer, Bytes bytes, bool is_first);
    /// Forgets a program that is here now.
    void forget(const Hash32& root);

    std::size_t bytes() const noexcept { return bytes_; }

private:
    struct PartialDownload {
        Bytes bytes;
        bool is_first = false;
    };
    std::map<std::pair<Hash32, std::string>, PartialDownload> downloads_;
    std::size_t bytes_max_, bytes_ = 0;
};

}  // namespace retrace::node
