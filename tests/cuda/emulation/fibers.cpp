// SPDX-License-Identifier: MIT
// Threads of a block, or of the two blocks of a cluster, as fibers. One cluster runs at a time, and the code is not
// reentrant.
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
    std::uint64_t group;
};

/// A barrier in shared memory.
struct PhaseBarrier {
    std::uint32_t expected = 0, arrived = 0;
    std::int64_t bytes = 0;    ///< Expected and not yet completed, or the reverse if negative.
    std::uint64_t phases = 0;  ///< Ended ones.

    void move() {
        if (arrived != expected || bytes != 0) return;
        arrived = 0;
        ++phases;
    }
};

struct BulkCopy {
    unsigned char* to;
    const unsigned char* from;
    std::uint32_t bytes;
    PhaseBarrier* barrier;
};

struct Fiber {
    ucontext_t context{};
    jmp_buf place{};  ///< Where the fiber continues once it has started.
    bool started = false;
    void* stack = nullptr;
    bool done = false;
    const Meeting* waits_in = nullptr;
    std::uint64_t waits_for = 0;
    const PhaseBarrier* phase = nullptr;  ///< The barrier in shared memory that it waits for.
    std::uint32_t parity = 0;
    std::vector<Copy> copies;
    std::uint64_t groups = 0;
    std::vector<PendingProduct> products;
    std::uint64_t product_groups = 0;

    bool waits() const {
        return (waits_in != nullptr && waits_in->round == waits_for) ||
               (phase != nullptr && phase->phases % 2 == parity);
    }
    void* fake_stack = nullptr;
};

struct Warp {
    Meeting meeting;
    unsigned char slots[2][32][64];
};

constexpr unsigned kClusterMost = 2;

/// What is one block's own.
struct OneBlock {
    Meeting meeting;
    unsigned char* shared = nullptr;               ///< Ends at the start of an inaccessible page.
    std::map<std::size_t, PhaseBarrier> barriers;  ///< By their offsets in shared memory.
};

/// The blocks that run at a time.
struct Cluster {
    std::vector<Fiber> fibers;  ///< Those of the second block follow those of the first.
    std::vector<Warp> warps;
    OneBlock blocks[kClusterMost];
    Meeting meeting;
    std::vector<BulkCopy> copies;  ///< Not yet done.
    ucontext_t scheduler{};
    jmp_buf scheduler_place{};
    std::size_t shared_size = 0;
    unsigned current = 0, threads = 0, count = 1;  ///< Threads a block; blocks.
    const std::function<void()>* body = nullptr;

    OneBlock& own() { return blocks[current / threads]; }
};
Cluster cluster;

Fiber& self() { return cluster.fibers[cluster.current]; }

// Switching by setjmp takes a few nanoseconds, while swapcontext takes two system calls. The address sanitizer supports
// only the latter, and must be notified of it.
#if defined(__SANITIZE_ADDRESS__)
const void* scheduler_stack = nullptr;
std::size_t scheduler_stack_size = 0;
void* scheduler_saved = nullptr;

void entered() { __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_size); }
void leave(Fiber& fiber) {
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
void leave(Fiber& fiber) {
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

void complete(const BulkCopy& copy) {
    std::memcpy(copy.to, copy.from, copy.bytes);
    copy.barrier->bytes -= copy.bytes;
    copy.barrier->move();
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

namespace {

constexpr std::uint32_t kSharedBase = 0x410;  // a multiple of 16, but of no higher power of two

/// Returns byte `k` of row `row` of the tile that a descriptor names (PTX ISA, "Matrix descriptor format" and "64-byte
/// swizzle mode"): bits 4 and 5 of an address are exclusive-ored with bits 7 and 8.
std::int32_t tile_byte(std::uint64_t descriptor, std::uint32_t row, std::uint32_t k) {
    if (descriptor >> 62 != 2) fault("only the 64-byte swizzle is emulated");
    const auto start = static_cast<std::uint32_t>(descriptor & 0x3fff) << 4;
    const auto stride = static_cast<std::uint32_t>(descriptor >> 32 & 0x3fff) << 4;
    const std::uint32_t address = start + row / 8 * stride + row % 8 * 64 + k;
    const std::uint32_t offset = (address ^ (address >> 7 & 3) << 4) - kSharedBase;
    if (offset >= cluster.shared_size) fault("a product reads outside the shared memory");
    return static_cast<std::int8_t>(cluster.own().shared[offset]);
}

std::size_t offset_in_shared(const void* p) {
    const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(p) - cluster.own().shared);
    if (offset >= cluster.shared_size) fault("an address outside the shared memory");
    return offset;
}

PhaseBarrier& barrier_of(const void* p, std::uint32_t rank) {
    if (rank >= cluster.count) fault("a block that the cluster does not have");
    auto& barriers = cluster.blocks[rank].barriers;
    const auto found = barriers.find(offset_in_shared(p));
    if (found == barriers.end()) fault("a barrier that was not initialised");
    return found->second;
}

void arrive(PhaseBarrier& barrier) {
    if (barrier.arrived == barrier.expected) fault("more arrivals than a barrier expects");
    ++barrier.arrived;
    barrier.move();
}

}  // namespace

std::uint32_t shared_address(const void* p) {
    return kSharedBase + static_cast<std::uint32_t>(static_cast<const unsigned char*>(p) - cluster.own().shared);
}

void warpgroup_product(std::int32_t* sums, unsigned columns, std::uint64_t a, std::uint64_t b, bool accumulate) {
    self().products.push_back({sums, columns, a, b, accumulate, self().product_groups});
}

void products_commit() { ++self().product_groups; }

void products_wait(unsigned pending) {
    const std::uint32_t own = lane(), warp = cluster.current / 32 % 4;
    std::vector<PendingProduct> left;
    for (const PendingProduct& product : self().products) {
        if (product.group + pending >= self().product_groups) {
            left.push_back(product);
            continue;
        }
        for (unsigned i = 0; i < product.columns / 2; ++i) {
            const std::uint32_t row = 16 * warp + own / 4 + i / 2 % 2 * 8, col = i / 4 * 8 + own % 4 * 2 + i % 2;
            std::int32_t sum = product.accumulate ? product.sums[i] : 0;
            for (std::uint32_t k = 0; k < 32; ++k) sum += tile_byte(product.a, row, k) * tile_byte(product.b, col, k);
            product.sums[i] = sum;
        }
    }
    self().products = std::move(left);
}

void barrier_init(void* barrier, std::uint32_t arrivals) {
    cluster.own().barriers[offset_in_shared(barrier)] = PhaseBarrier{arrivals, 0, 0, 0};
}

void barrier_expect(void* barrier, std::uint32_t bytes) {
    PhaseBarrier& own = barrier_of(barrier, cluster_rank());
    own.bytes += bytes;
    arrive(own);
}

void barrier_arrive(void* barrier, std::uint32_t rank) { arrive(barrier_of(barrier, rank)); }

void barrier_wait(void* barrier, std::uint32_t parity) {
    const PhaseBarrier& own = barrier_of(barrier, cluster_rank());
    Fiber& fiber = self();
    fiber.phase = &own;
    fiber.parity = parity;
    while (fiber.waits()) leave(fiber);
    fiber.phase = nullptr;
}

void bulk_copy(void* to, const void* from, std::uint32_t bytes, void* barrier, unsigned blocks) {
    if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0 ||
        bytes % 16 != 0 || bytes == 0)
        fault("a bulk copy whose addresses or size are no multiples of 16");
    const std::size_t offset = offset_in_shared(to);
    if (bytes > cluster.shared_size - offset) fault("a bulk copy beyond the shared memory");
    for (unsigned rank = 0; rank < kClusterMost; ++rank) {
        if ((blocks >> rank & 1) == 0) continue;
        const BulkCopy copy{cluster.blocks[rank].shared + offset, static_cast<const unsigned char*>(from), bytes,
                            &barrier_of(barrier, rank)};
        if (settings.order == Order::ascending) {
            complete(copy);
        } else {
            cluster.copies.push_back(copy);
        }
    }
}

std::uint32_t cluster_rank() { return cluster.current / cluster.threads; }

void cluster_barrier() { wait_in(cluster.meeting); }

}  // namespace retrace::emulation
