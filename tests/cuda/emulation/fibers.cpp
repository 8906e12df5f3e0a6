// SPDX-License-Identifier: MIT
// Threads of a block, or of the two blocks of a cluster, as fibers. One cluster runs at a time, and the code is not
// reentrant.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "tests/cuda/emulation/cluster.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/cuda/emulation/recorder.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace retrace::emulation {

Cluster cluster;

void fault(const char* why) {
    std::fprintf(stderr, "emulated kernel: %s (block %u, %u, thread %u)\n", why, block_index.x, block_index.y,
                 thread_index.x);
    std::abort();
}

namespace {

constexpr std::size_t kStack = std::size_t{256} << 10;

// Switching by setjmp takes a few nanoseconds, while swapcontext takes two system calls. The address sanitizer supports
// only the latter, and must be notified of it.
#if defined(__SANITIZE_ADDRESS__)
const void* scheduler_stack = nullptr;
std::size_t scheduler_stack_size = 0;
void* scheduler_saved = nullptr;

void entered() { __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_size); }
void switch_away(Fiber& fiber) {
    __sanitizer_start_switch_fiber(fiber.done ? nullptr : &fiber.fake_stack, scheduler_stack, scheduler_stack_size);
    swapcontext(&fiber.context, &cluster.scheduler);
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &scheduler_stack, &scheduler_stack_size);
}
void enter(Fiber& fiber) {
    __sanitizer_start_switch_fiber(&scheduler_saved, fiber.stack, kStack);
    swapcontext(&cluster.scheduler, &fiber.context);
    __sanitizer_finish_switch_fiber(scheduler_saved, nullptr, nullptr);
}
#else
void entered() {}
void switch_away(Fiber& fiber) {
    if (_setjmp(fiber.place) == 0) _longjmp(cluster.scheduler_place, 1);
}
void enter(Fiber& fiber) {
    if (_setjmp(cluster.scheduler_place) != 0) return;
    if (fiber.started) _longjmp(fiber.place, 1);
    fiber.started = true;
    setcontext(&fiber.context);
}
#endif

void run_fiber() {
    entered();
    (*cluster.body)();
    self().done = true;
    switch_away(self());
}

/// Returns shared memory of exactly `size` bytes for a block of the cluster, aligned to 16: an access beyond them ends
/// the process.
unsigned char* place_shared(unsigned rank, std::size_t size) {
    constexpr std::size_t kPage = 4096, kMost = std::size_t{1} << 18;
    static unsigned char* const room = [] {
        constexpr std::size_t kAll = kClusterMost * (kMost + kPage);
        void* const pages =
            mmap(nullptr, kAll, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages == MAP_FAILED) fault("no room for shared memory");
        auto* const bytes = static_cast<unsigned char*>(pages);
        for (std::size_t end = kMost; end < kAll; end += kMost + kPage)
            if (mprotect(bytes + end, kPage, PROT_NONE) != 0) fault("no guard behind the shared memory");
        return bytes;
    }();
    return room + rank * (kMost + kPage) + kMost - (size + 15) / 16 * 16;
}

void prepare(unsigned threads, unsigned count, std::size_t shared) {
    const unsigned all = threads * count;
    while (cluster.fibers.size() < all) {
        Fiber fiber;
        fiber.stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (fiber.stack == MAP_FAILED) fault("no memory for stacks");
        cluster.fibers.push_back(std::move(fiber));
    }
    cluster.threads = threads;
    cluster.count = count;
    cluster.shared_size = shared;
    cluster.meeting = {all, 0, 0};
    cluster.copies.clear();
    for (unsigned rank = 0; rank < count; ++rank) {
        OneBlock& block = cluster.blocks[rank];
        block.shared = place_shared(rank, shared);
        std::memset(block.shared, 0xcd, shared);
        block.meeting = {threads, 0, 0};
        block.barriers.clear();
    }
    cluster.warps.resize(all / 32);
    for (Warp& warp : cluster.warps) warp.meeting = {32, 0, 0};
    for (unsigned t = 0; t < all; ++t) {
        Fiber& fiber = cluster.fibers[t];
        fiber.done = fiber.started = false;
        fiber.waits_in = nullptr;
        fiber.phase = nullptr;
        fiber.copies.clear();
        fiber.groups = 0;
        fiber.products.clear();
        fiber.product_groups = 0;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack;
        fiber.context.uc_stack.ss_size = kStack;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, run_fiber, 0);
    }
}

/// Makes one pass over all threads, the first block being number `first` across; returns whether any of them ran.
bool pass(unsigned first, unsigned& running) {
    const unsigned all = cluster.threads * cluster.count;
    bool moved = false;
    for (unsigned i = 0; i < all; ++i) {
        const unsigned t = settings.order == Order::ascending ? i : all - 1 - i;
        Fiber& fiber = cluster.fibers[t];
        if (fiber.done || fiber.waits()) continue;
        cluster.current = t;
        thread_index = {t % cluster.threads, 0, 0};
        block_index.x = first + t / cluster.threads;
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

void run_cluster(unsigned threads, unsigned count, std::size_t shared) {
    prepare(threads, count, shared);
    const unsigned first = block_index.x;
    for (unsigned running = threads * count; running != 0;) {
        if (pass(first, running)) continue;
        if (cluster.copies.empty()) fault("threads wait at a barrier that others never reach");
        const BulkCopy copy = cluster.copies.front();
        cluster.copies.erase(cluster.copies.begin());
        complete(copy);
    }
    if (!cluster.copies.empty()) fault("bulk copies that nobody waited for");
}

void run_grid(const Launch& launch, const std::function<void()>& body) {
    if (launch.threads == 0 || launch.threads > 1024 || launch.threads % 32 != 0)
        fault("whole warps, at most 1024 threads a block");
    if (launch.across == 0 || launch.down == 0) fault("a grid without blocks");
    if (launch.across > std::min<std::uint64_t>(0x7fffffff, settings.blocks_across)) fault("too many blocks across");
    if (launch.down > 65535) fault("too many blocks down");
    if (launch.cluster == 0 || launch.cluster > kClusterMost || launch.across % launch.cluster != 0)
        fault("whole clusters of one or two blocks");
    if (launch.shared > device.shared_limit) fault("more shared memory than a block of this device can have");
    grid_extent = {static_cast<unsigned>(launch.across), static_cast<unsigned>(launch.down), 1};
    block_extent = {launch.threads, 1, 1};
    cluster.body = &body;
    for (unsigned y = 0; y < launch.down; ++y) {
        for (unsigned x = 0; x < launch.across; x += launch.cluster) {
            block_index = {x, y, 0};
            run_cluster(launch.threads, launch.cluster, launch.shared);
        }
    }
}

}  // namespace

void leave(Fiber& fiber) { switch_away(fiber); }

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

void launch(CUstream_st* stream, Launch launch, std::function<void()> body) {
    enqueue(stream, [=] { run_grid(launch, body); });
}

void trap() { fault("a trap"); }

void ask_for_shared(const void* kernel, std::size_t shared) {
    static std::map<const void*, std::size_t> asked;
    if (shared <= 48 * 1024) return;
    if (asked.try_emplace(kernel, shared).first->second != shared)
        fault("a kernel takes different amounts of more than 48 KiB of shared memory");
}

void* shared_memory() { return cluster.own().shared; }

void barrier() { wait_in(cluster.own().meeting); }

const unsigned char* exchange(const void* mine, std::size_t size) {
    if (size > 64) fault("more than 64 bytes exchanged");
    Warp& warp = cluster.warps[cluster.current / 32];
    // Two sets alternate, since a lane is at most one exchange ahead of the slowest.
    auto& slots = warp.slots[warp.meeting.round % 2];
    std::memcpy(slots[cluster.current % 32], mine, size);
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

}  // namespace retrace::emulation
