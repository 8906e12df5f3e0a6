// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"
#include "node/platform/fault.hpp"

namespace retrace::node {

/// Program files that arrive in pieces. Each upload has a name that its sender chose at random, so that nobody can
/// spoil another's; of too many the one that was written to least recently goes, and since a piece has a least size,
/// whoever wants to push others out must send far more than they do.
///
/// Not thread-safe.
class ProgramParts {
public:
    struct Limits {
        std::size_t file_bytes = 0;  ///< Of one; of all that arrive together at most four times as many.
        std::size_t piece_bytes = 0;  ///< Of every piece but the last, at least.
        std::size_t uploads = 32;
        std::uint64_t free_bytes = 0;  ///< Left free on the disk.
    };
    /// What an earlier process left is deleted.
    ProgramParts(std::filesystem::path folder, const Limits& limits);

    struct Place {
        std::uint64_t first = 0, total = 0;
        std::string_view upload;  ///< 32 lower-case hex digits.
    };
    /// The whole file with its last piece, nothing before. incomplete: another piece is due.
    Result<std::optional<Bytes>, Failure> add(const Hash32& root, const Place& place, View piece);
    void remove(const Hash32& root);

private:
    struct Part {
        std::string name;
        std::uint64_t size = 0, total = 0;
    };
    using Parts = std::list<Part>;  ///< The one that was written to last is the last.
    std::filesystem::path path(const Part& part) const { return folder_ / (part.name + ".part"); }
    void drop(Parts::iterator part);

    std::filesystem::path folder_;
    Limits limits_;
    Parts parts_;
};

}  // namespace retrace::node
