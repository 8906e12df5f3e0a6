// SPDX-License-Identifier: MIT
// Memory for tensors and packed matrices.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace retrace::kernels {

struct FreePages {
    void operator()(std::uint8_t* p) const { std::free(p); }
};
using Pages = std::unique_ptr<std::uint8_t, FreePages>;

/// `bytes` without contents, aligned to 64. From 4 MiB on it asks for pages of 2 MiB, of which a step walks
/// through hundreds where it would be a hundred thousand of the usual ones; a system that lends none gives
/// the usual ones. Throws std::bad_alloc.
Pages take_pages(std::uint64_t bytes);

}  // namespace retrace::kernels
