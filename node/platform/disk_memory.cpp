// SPDX-License-Identifier: MIT
// Replaces operator new and delete ([replacement.functions] of the C++ standard). Until put_large_memory_on_disk is called
// they are those of libstdc++.
#include "node/platform/disk_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RETRACE_OWN_ALLOCATOR 0
#else
#define RETRACE_OWN_ALLOCATOR 1
#endif

namespace retrace::node {
namespace {

constexpr std::uintptr_t kPage = 4096;

/// Of the process, and never destroyed, since destructors of other globals free memory.
struct Mapped {
    std::mutex mutex;
    std::map<void*, std::size_t> pieces;
    std::string folder;
    std::uint64_t bytes = 0;
};
std::atomic<Mapped*> g_mapped{nullptr};

/// A mapping keeps its file, which is gone when the memory is freed or the process ends.
void* map_piece(const std::string& folder, std::size_t bytes) {
    const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return nullptr;
    void* out = nullptr;
    // Pages of a file without room on the disk would end the process when they are written.
    errno = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
    if (errno == 0) {
        out = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (out == MAP_FAILED) out = nullptr;
    }
    ::close(file);
    return out;
}

[[maybe_unused]] void* take_piece(Mapped& mapped, std::size_t bytes) noexcept {
    void* const piece = map_piece(mapped.folder, bytes);
    if (piece == nullptr) return nullptr;
    try {
        const std::lock_guard lock(mapped.mutex);
        mapped.pieces[piece] = bytes;
        mapped.bytes += bytes;
        return piece;
    } catch (const std::bad_alloc&) {
        ::munmap(piece, bytes);
        return nullptr;
    }
}

/// Returns whether `piece` was one.
[[maybe_unused]] bool give_piece(Mapped& mapped, void* piece) noexcept {
    decltype(mapped.pieces)::node_type taken;  // Freed without the lock, which freeing it may take.
    {
        const std::lock_guard lock(mapped.mutex);
        const auto found = mapped.pieces.find(piece);
        if (found == mapped.pieces.end()) return false;
        mapped.bytes -= found->second;
        taken = mapped.pieces.extract(found);
    }
    ::munmap(piece, taken.mapped());
    return true;
}

}  // namespace

Status<> put_large_memory_on_disk(const std::filesystem::path& folder) {
    if constexpr (!RETRACE_OWN_ALLOCATOR) return error("this build has the allocator of a sanitizer");
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    void* const tried = map_piece(folder.string(), kLargeAllocation);
    if (tried == nullptr)
        return error("no memory in files of " + folder.string() + ": " + std::strerror(errno) + " (disk_failed)");
    ::munmap(tried, kLargeAllocation);
    if (g_mapped.load() != nullptr) return Unit{};
    auto* const mapped = new Mapped;
    mapped->folder = folder.string();
    g_mapped = mapped;
    return Unit{};
}

std::uint64_t memory_on_disk() {
    Mapped* const mapped = g_mapped.load();
    if (mapped == nullptr) return 0;
    const std::lock_guard lock(mapped->mutex);
    return mapped->bytes;
}

}  // namespace retrace::node

// Weak, because some tests define their own.
#if RETRACE_OWN_ALLOCATOR
[[gnu::weak]] void* operator new(std::size_t bytes) {
    using retrace::node::g_mapped;
    if (bytes >= retrace::node::kLargeAllocation) {
        if (auto* const mapped = g_mapped.load(std::memory_order_acquire); mapped != nullptr)
            if (void* const piece = retrace::node::take_piece(*mapped, bytes); piece != nullptr) return piece;
    }
    for (;;) {
        if (void* const out = std::malloc(bytes != 0 ? bytes : 1); out != nullptr) return out;
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) throw std::bad_alloc();
        handler();
    }
}

[[gnu::weak]] void operator delete(void* memory) noexcept {
    using retrace::node::g_mapped;
    if (memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % retrace::node::kPage == 0) {
        if (auto* const mapped = g_mapped.load(std::memory_order_acquire); mapped != nullptr)
            if (retrace::node::give_piece(*mapped, memory)) return;
    }
    std::free(memory);
}

[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }
#endif
