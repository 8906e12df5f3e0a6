// SPDX-License-Identifier: MIT
// Threads of a block as fibers. One block runs at a time, and the code is not reentrant.
#include <sys/mman.h>
#include <ucontext.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/cuda/emulation/recorder.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace retrace::emulation {
namespace {

constexpr std::size_t kStack = std::size_t{256} << 10;

[[noreturn]] void fault(const char* why) {
    std::fprintf(stderr, "emulated kernel: %s (block %u, %u, thread %u)\n", why, block_index.x, block_index.y,
                 thread_index.x);
    std::abort();
}

/// A barrier for a set of threads.
struct Meeting {
    unsigned expected = 0, arrived = 0;
    std::uint64_t round = 0;
};

struct Copy {
    void* to;
    unsigned char data[16];
    std::uint64_t group;
};

struct PendingProduct {
    std::int32_t* sums;
    unsigned columns;
    std::uint64_t a, b;
    bool accumulate;
};

struct Fiber {
    ucontext_t context{};
    jmp_buf place{};  ///< Where the fiber continues once it has started.
    bool started = false;
    void* stack = nullptr;
    bool done = false;
    const Meeting* waits_in = nullptr;
    std::uint64_t waits_for = 0;
    std::vector<Copy> copies;
    std::uint64_t groups = 0;
    std::vector<PendingProduct> products;
    void* fake_stack = nullptr;
};

struct Warp {
    Meeting meeting;
    unsigned char slots[2][32][64];
};

struct Block {
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    Meeting meeting;
    ucontext_t scheduler{};
    jmp_buf scheduler_place{};
    unsigned char* shared = nullptr;  ///< Ends at the start of an inaccessible page.
    std::size_t shared_size = 0;
    unsigned current = 0;
    const std::function<void()>* body = nullptr;
};
Block block;

Fiber& self() { return block.fibers[block.current]; }

// Switching by setjmp takes a few nanoseconds, while swapcontext takes two system calls. The address sanitizer supports
// only the latter, and must be notified of it.
#if defined(__SANITIZE_ADDRESS__)
const void* scheduler_stack = nullptr;
std::size_t scheduler_stack_size = 0;
void* scheduler_saved = nullptr;

void entered() { __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_size); }
void leave(Fiber& fiber) {
    __sanitizer_start_switch_fiber(fiber.done ? nullptr : &fiber.fake_stack, scheduler_stack, scheduler_stack_size);
    swapcontext(&fiber.context, &block.scheduler);
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &scheduler_stack, &scheduler_stack_size);
}
void enter(Fiber& fiber) {
    __sanitizer_start_switch_fiber(&scheduler_saved, fiber.stack, kStack);
    swapcontext(&block.scheduler, &fiber.context);
    __sanitizer_finish_switch_fiber(scheduler_saved, nullptr, nullptr);
}
#else
void entered() {}
void leave(Fiber& fiber) {
    if (_setjmp(fiber.place) == 0) _longjmp(block.scheduler_place, 1);
}
void enter(Fiber& fiber) {
    if (_setjmp(block.scheduler_place) != 0) return;
    if (fiber.started) _longjmp(fiber.place, 1);
    fiber.started = true;
    setcontext(&fiber.context);
}
#endif

void run_fiber() {
    entered();
    (*block.body)();
    self().done = true;
    leave(self());
}

void wait_in(Meeting& meeting) {
    Fiber& fiber = self();
    if (++meeting.arrived == meeting.expected) {
        meeting.arrived = 0;
        ++meeting.round;
        return;
    }
    fiber.waits_in = &meeting;
    fiber.waits_for = meeting.round;
    leave(fiber);
    fiber.waits_in = nullptr;
}

/// Provides shared memory of exactly `size` bytes, aligned to 16: an access beyond them ends the process.
void place_shared(std::size_t size) {
    constexpr std::size_t kPage = 4096, kMost = std::size_t{1} << 18;
    static unsigned char* const room = [] {
        void* const pages =
            mmap(nullptr, kMost + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages == MAP_FAILED) fault("no room for shared memory");
        auto* const bytes = static_cast<unsigned char*>(pages);
        if (mprotect(bytes + kMost, kPage, PROT_NONE) != 0) fault("no guard behind the shared memory");
        return bytes;
    }();
    block.shared = room + kMost - (size + 15) / 16 * 16;
    block.shared_size = size;
}

void prepare(unsigned threads, std::size_t shared) {
    while (block.fibers.size() < threads) {
        Fiber fiber;
        fiber.stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (fiber.stack == MAP_FAILED) fault("no memory for stacks");
        block.fibers.push_back(std::move(fiber));
    }
    block.warps.resize((threads + 31) / 32);
    if (block.shared == nullptr || block.shared_size != shared) place_shared(shared);
    std::memset(block.shared, 0xcd, shared);
    block.meeting = {threads, 0, 0};
    for (unsigned w = 0; w < block.warps.size(); ++w) block.warps[w].meeting = {std::min(32u, threads - 32 * w), 0, 0};
    for (unsigned t = 0; t < threads; ++t) {
        Fiber& fiber = block.fibers[t];
        fiber.done = fiber.started = false;
        fiber.waits_in = nullptr;
        fiber.copies.clear();
        fiber.groups = 0;
        fiber.products.clear();
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack;
        fiber.context.uc_stack.ss_size = kStack;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, run_fiber, 0);
    }
}

/// Makes one pass over all threads; returns whether any of them ran.
bool pass(unsigned threads, unsigned& running) {
    bool moved = false;
    for (unsigned i = 0; i < threads; ++i) {
        const unsigned t = settings.order == Order::ascending ? i : threads - 1 - i;
        Fiber& fiber = block.fibers[t];
        if (fiber.done || (fiber.waits_in != nullptr && fiber.waits_in->round == fiber.waits_for)) continue;
        block.current = t;
        thread_index = {t, 0, 0};
        ++device.turns;
        enter(fiber);
        moved = true;
        if (fiber.done) {
            --running;
            if (!fiber.copies.empty()) fault("asynchronous copies that nobody waited for");
            if (!fiber.products.empty()) fault("products that nobody waited for");
        }
    }
    return moved;
}

void run_block(unsigned threads, std::size_t shared) {
    prepare(threads, shared);
    for (unsigned running = threads; running != 0;) {
        if (!pass(threads, running)) fault("threads wait at a barrier that others never reach");
    }
}

void run_grid(std::uint64_t across, std::uint64_t down, unsigned threads, std::size_t shared,
              const std::function<void()>& body) {
    if (threads == 0 || threads > 1024 || threads % 32 != 0) fault("whole warps, at most 1024 threads a block");
    if (across == 0 || down == 0) fault("a grid without blocks");
    if (across > std::min<std::uint64_t>(0x7fffffff, settings.blocks_across)) fault("too many blocks across");
    if (down > 65535) fault("too many blocks down");
    if (shared > device.shared_limit) fault("more shared memory than a block of this device can have");
    grid_extent = {static_cast<unsigned>(across), static_cast<unsigned>(down), 1};
    block_extent = {threads, 1, 1};
    block.body = &body;
    for (unsigned y = 0; y < down; ++y) {
        for (unsigned x = 0; x < across; ++x) {
            block_index = {x, y, 0};
            run_block(threads, shared);
        }
    }
}

}  // namespace

void launch(CUstream_st* stream, std::uint64_t across, std::uint64_t down, unsigned threads, std::size_t shared,
            std::function<void()> body) {
    enqueue(stream, [=] { run_grid(across, down, threads, shared, body); });
}

void trap() { fault("a trap"); }

void ask_for_shared(const void* kernel, std::size_t shared) {
    static std::map<const void*, std::size_t> asked;
    if (shared <= 48 * 1024) return;
    if (asked.try_emplace(kernel, shared).first->second != shared)
        fault("a kernel takes different amounts of more than 48 KiB of shared memory");
}

void* shared_memory() { return block.shared; }

void barrier() { wait_in(block.meeting); }

const unsigned char* exchange(const void* mine, std::size_t size) {
    if (size > 64) fault("more than 64 bytes exchanged");
    Warp& warp = block.warps[block.current / 32];
    // Two sets alternate, since a lane is at most one exchange ahead of the slowest.
    auto& slots = warp.slots[warp.meeting.round % 2];
    std::memcpy(slots[block.current % 32], mine, size);
    wait_in(warp.meeting);
    return slots[0];
}

void copy_16(void* to, const void* from) {
    if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0) {
        fault("a copy of 16 bytes between addresses that are no multiples of 16");
    }
    Copy copy{to, {}, self().groups};
    std::memcpy(copy.data, from, 16);
    self().copies.push_back(copy);
}

void copy_commit() { ++self().groups; }

void copy_wait(unsigned pending) {
    std::vector<Copy> left;
    for (const Copy& copy : self().copies) {
        if (copy.group + pending < self().groups) {
            std::memcpy(copy.to, copy.data, 16);
        } else {
            left.push_back(copy);
        }
    }
    self().copies = std::move(left);
}

namespace {

constexpr std::uint32_t kSharedBase = 0x410;  // a multiple of 16, but of no higher power of two

/// Returns byte `k` of row `row` of the tile that a descriptor names (PTX ISA, "Matrix descriptor format" and "128-byte
/// swizzle mode"): bits 4..6 of an address are exclusive-ored with bits 7..9.
std::int32_t tile_byte(std::uint64_t descriptor, std::uint32_t row, std::uint32_t k) {
    if (descriptor >> 62 != 1) fault("only the 128-byte swizzle is emulated");
    const auto start = static_cast<std::uint32_t>(descriptor & 0x3fff) << 4;
    const auto stride = static_cast<std::uint32_t>(descriptor >> 32 & 0x3fff) << 4;
    const std::uint32_t address = start + row / 8 * stride + row % 8 * 128 + k;
    const std::uint32_t offset = (address ^ (address >> 7 & 7) << 4) - kSharedBase;
    if (offset >= block.shared_size) fault("a product reads outside the shared memory");
    return static_cast<std::int8_t>(block.shared[offset]);
}

}  // namespace

std::uint32_t shared_address(const void* p) {
    return kSharedBase + static_cast<std::uint32_t>(static_cast<const unsigned char*>(p) - block.shared);
}

void warpgroup_product(std::int32_t* sums, unsigned columns, std::uint64_t a, std::uint64_t b, bool accumulate) {
    self().products.push_back({sums, columns, a, b, accumulate});
}

void products_wait() {
    const std::uint32_t own = lane(), warp = block.current / 32 % 4;
    for (const PendingProduct& product : self().products) {
        for (unsigned i = 0; i < product.columns / 2; ++i) {
            const std::uint32_t row = 16 * warp + own / 4 + i / 2 % 2 * 8, col = i / 4 * 8 + own % 4 * 2 + i % 2;
            std::int32_t sum = product.accumulate ? product.sums[i] : 0;
            for (std::uint32_t k = 0; k < 32; ++k) sum += tile_byte(product.a, row, k) * tile_byte(product.b, col, k);
            product.sums[i] = sum;
        }
    }
    self().products.clear();
}

}  // namespace retrace::emulation
