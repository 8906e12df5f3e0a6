// SPDX-License-Identifier: MIT
#pragma once

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// Whether the bytes begin like a gzip file.
bool is_gzip(View bytes) noexcept;
/// The one member of a gzip file, its checksum verified. More than `limit` bytes, a cut file, a damaged file
/// and bytes after the end are errors.
Result<Bytes> gunzip(View file, std::size_t limit);
/// A raw deflate stream that must give exactly `size` bytes (a member of a ZIP archive).
Result<Bytes> inflate_raw(View stream, std::size_t size);
/// CRC-32 of ZIP and gzip.
std::uint32_t crc32_of(View bytes) noexcept;

}  // namespace retrace::node
