// SPDX-License-Identifier: MIT
// An `operator new` that fails when the test says so, for the whole program: one source file of it includes this,
// and says when.
#pragma once

#include <cstdlib>
#include <new>

namespace retrace::test {

/// Whether the allocation that is asked for now finds no memory. The including file defines it.
bool memory_ends();

}  // namespace retrace::test

// All that a plain delete may get: sanitizers bring their own of what is not replaced here.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    if (retrace::test::memory_ends()) throw std::bad_alloc();
    void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    try {
        return operator new(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
