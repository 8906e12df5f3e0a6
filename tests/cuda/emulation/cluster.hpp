// SPDX-License-Identifier: MIT
// State shared by the files of the emulation: the threads of the running cluster, and the barriers and copies that they
// wait for.
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "tests/cuda/emulation/cuda.hpp"

namespace retrace::emulation {

/// Ends the process: the kernel did what a device refuses, or leaves undefined.
[[noreturn]] void fault(const char* why);

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

/// State of one block.
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
extern Cluster cluster;

inline Fiber& self() { return cluster.fibers[cluster.current]; }

/// Lets other threads run until `fiber`, which is the running one, is entered again.
void leave(Fiber& fiber);
/// Waits until the expected number of threads has arrived.
void wait_in(Meeting& meeting);
void complete(const BulkCopy& copy);

}  // namespace retrace::emulation
