// SPDX-License-Identifier: MIT
// Hopper's part of the emulated device: products of warpgroups, barriers in shared memory, bulk copies and clusters.
#include <cstring>

#include "tests/cuda/emulation/cluster.hpp"

namespace retrace::emulation {
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

void complete(const BulkCopy& copy) {
    std::memcpy(copy.to, copy.from, copy.bytes);
    copy.barrier->bytes -= copy.bytes;
    copy.barrier->move();
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
