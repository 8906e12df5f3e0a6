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

/// Thrown when memory cannot be allocated; tells the bytes requested.
class NoMemory final : public std::bad_alloc {
public:
    explicit NoMemory(std::uint64_t bytes) noexcept : bytes_(bytes) {}
    std::uint64_t bytes() const noexcept { return bytes_; }
    const char* what() const noexcept override { return "retrace::kernels::NoMemory"; }

private:
    std::uint64_t bytes_;
};

/// Allocates `bytes` of uninitialised memory, aligned to 64. From 4 MiB on it requests pages of 2 MiB, because a step
/// then touches hundreds of pages instead of a hundred thousand; a system that grants none uses its usual pages. Throws
/// NoMemory.
Pages take_pages(std::uint64_t bytes);

}  // namespace retrace::kernels
