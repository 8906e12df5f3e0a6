// SPDX-License-Identifier: MIT
#pragma once

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// Whether the bytes begin like a gzip file.
bool is_gzip(View bytes) noexcept;
/// Unpacks a gzip file with one member and verifies its checksum. More than `limit` bytes, a truncated or damaged file,
/// and bytes after the end are errors.
Result<Bytes> gunzip(View file, std::size_t limit);
/// Unpacks a raw deflate stream that must give exactly `size` bytes (a member of a ZIP archive).
Result<Bytes> inflate_raw(View stream, std::size_t size);
/// CRC-32 of ZIP and gzip.
std::uint32_t crc32_of(View bytes) noexcept;

}  // namespace retrace::node
