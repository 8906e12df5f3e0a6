// SPDX-License-Identifier: MIT
// Memory for tensors and packed matrices.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace retrace::kernels {

struct FreePages {
    void operator()(std::uint8_t* p) const { std::free(p); }
};
using Pages = std::unique_ptr<std::uint8_t, FreePages>;

/// Memory that was not there, and how much of it.
class NoMemory final : public std::bad_alloc {
public:
    explicit NoMemory(std::uint64_t bytes) noexcept : bytes_(bytes) {}
    std::uint64_t bytes() const noexcept { return bytes_; }
    const char* what() const noexcept override { return "retrace::kernels::NoMemory"; }

private:
    std::uint64_t bytes_;
};

/// `bytes` without contents, aligned to 64. From 4 MiB on it asks for pages of 2 MiB, of which a step walks
/// through hundreds where it would be a hundred thousand of the usual ones; a system that lends none gives
/// the usual ones. Throws NoMemory.
Pages take_pages(std::uint64_t bytes);

}  // namespace retrace::kernels
