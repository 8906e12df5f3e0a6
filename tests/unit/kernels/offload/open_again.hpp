// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace retrace::kernels::testing {

/// Opens once more the file without a name, of at least `bytes` bytes, that this process has open; -1 if there is none.
inline int open_again(std::uint64_t bytes) {
    for (int file = 3; file < 256; ++file) {
        struct stat status {};
        if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
            status.st_size >= static_cast<off_t>(bytes))
            return ::open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDWR | O_CLOEXEC);
    }
    return -1;
}

}  // namespace retrace::kernels::testing
