// SPDX-License-Identifier: MIT
#include "kernels/offload/disk_speed.hpp"

#include <chrono>

#include "kernels/offload/scratch_file.hpp"
#include "kernels/runtime/pages.hpp"

namespace retrace::kernels {

Result<DiskSpeed> measure_disk(const std::filesystem::path& folder, std::uint64_t bytes) {
    constexpr std::uint64_t kPiece = 4 << 20;
    const std::uint64_t pieces = bytes / kPiece + 1;
    RETRACE_TRY(file, ScratchFile::open(folder, pieces * kPiece));
    const Pages piece = take_pages(kPiece);
    for (std::uint64_t i = 0; i < kPiece; ++i)  // Some disks compress, or do not store zeros.
        piece.get()[i] = static_cast<std::uint8_t>(i * 2654435761u >> 24);
    DiskSpeed out;
    out.direct = file.direct();
    for (double* const speed : {&out.written, &out.read}) {
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t i = 0; i < pieces; ++i) {
            const bool writes = speed == &out.written;
            RETRACE_CHECK(writes ? file.write(i * kPiece, piece.get(), kPiece)
                                 : file.read(i * kPiece, piece.get(), kPiece));
        }
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        *speed = static_cast<double>(pieces * kPiece) / seconds.count();
    }
    return out;
}

}  // namespace retrace::kernels
