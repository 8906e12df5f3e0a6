// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>

#include "merkle/base/result.hpp"

namespace retrace::kernels {

inline constexpr double kSlowestDisk = 20e6;  ///< Bytes a second with which a step is worth while.

struct DiskSpeed {
    double written = 0, read = 0;  ///< Bytes a second, of one transfer after the other.
    bool direct = false;           ///< Past the page cache; otherwise `read` is that of memory.
};

/// Writes and reads `bytes` bytes of a ScratchFile in `folder`; errors are those of ScratchFile.
Result<DiskSpeed> measure_disk(const std::filesystem::path& folder, std::uint64_t bytes = 16 << 20);

}  // namespace retrace::kernels
