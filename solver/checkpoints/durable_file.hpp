// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::solver {

/// Suffix of files that are being written; a leftover is garbage.
inline constexpr std::string_view kUnfinished = ".unfinished";

/// Writes a file so that after a crash it holds all of `parts` or is not there: written aside, fsynced,
/// renamed, and the directory fsynced. Errors carry the system's reason.
Status<> write_durably(const std::filesystem::path& path, std::initializer_list<View> parts);
/// The whole file; longer than `limit`: an error.
Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace retrace::solver
