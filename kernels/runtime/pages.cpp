// SPDX-License-Identifier: MIT
#include "kernels/runtime/pages.hpp"

#include <sys/mman.h>

namespace retrace::kernels {

Pages take_pages(std::uint64_t bytes) {
    constexpr std::uint64_t kLarge = 2 << 20;
    const std::uint64_t alignment = bytes < 2 * kLarge ? 64 : kLarge;
    if (bytes > SIZE_MAX - alignment) throw NoMemory(bytes);
    const std::uint64_t whole = (bytes + alignment - 1) / alignment * alignment;  // as aligned_alloc requires
    Pages out(static_cast<std::uint8_t*>(std::aligned_alloc(alignment, whole)));
    if (out == nullptr) throw NoMemory(bytes);
#ifdef MADV_HUGEPAGE
    if (alignment == kLarge) (void)madvise(out.get(), bytes / kLarge * kLarge, MADV_HUGEPAGE);
#endif
    return out;
}

}  // namespace retrace::kernels
