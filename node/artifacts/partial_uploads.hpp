// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"
#include "node/platform/files.hpp"

namespace retrace::node {

/// Program files that arrive in pieces. Each upload has a random name chosen by its sender, so that nobody can spoil
/// another's upload. Over the limits the least recently written upload is dropped; since pieces have a minimum size,
/// pushing out others takes far more bytes than they have sent.
///
/// Not thread-safe.
class PartialProgramUploads {
public:
    struct Limits {
        std::size_t file_bytes = 0;   ///< Limit of one file; all unfinished ones together may have four times as many.
        std::size_t piece_bytes = 0;  ///< Minimum size of every piece but the last.
        std::size_t uploads = 32;
        DiskSpace left_free{};  ///< Left free on the disk.
    };
    /// Deletes the unfinished uploads of an earlier process.
    PartialProgramUploads(std::filesystem::path folder, const Limits& limits);

    struct Place {
        std::uint64_t first = 0, total = 0;
        std::string_view upload;  ///< 32 lower-case hex digits.
    };
    /// Returns the whole file with its last piece, nothing before. incomplete: another piece is expected.
    Result<std::optional<Bytes>, Failure> add(const Hash32& root, const Place& place, View piece);
    void remove(const Hash32& root);

private:
    struct PartialUpload {
        std::string name;
        std::uint64_t size = 0, total = 0;
    };
    using Uploads = std::list<PartialUpload>;  ///< In order of the last write, most recent last.
    std::filesystem::path path(const PartialUpload& upload) const { return folder_ / (upload.name + ".part"); }
    void drop(Uploads::iterator upload);

    std::filesystem::path folder_;
    Limits limits_;
    Uploads uploads_;
};

}  // namespace retrace::node
