// SPDX-License-Identifier: MIT
// The benchmark program of capability challenges: a chain of seeded matrix products in which every round needs all of
// the round before. One definition for the solver that runs it and for the ledger that recomputes single elements.
// Layouts: solver/README.md. Reasons: market/decisions/002.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/random/philox.hpp"
#include "kernels/runtime/thread_pool.hpp"
#include "merkle/base/bytes.hpp"
#include "solver/capability/draw.hpp"

namespace retrace::solver {

inline constexpr std::uint64_t kCapabilityExtent =
    256;  ///< States are 256×256, so that each element of the product is one link.
inline constexpr std::uint64_t kCapabilityElements = kCapabilityExtent * kCapabilityExtent;
/// Multiply-adds of one round.
inline constexpr std::uint64_t kCapabilityRoundCost = kCapabilityElements * kCapabilityExtent;
inline constexpr std::uint64_t kCapabilityRoundsMax = std::uint64_t{1} << 24;
inline constexpr std::uint32_t kCapabilityDrawsMax = 8;

using CapabilityRow = std::array<float, kCapabilityExtent>;

/// Seed of a challenge: first 8 bytes (little endian) of SHA-256("retrace/capability-seed/1" ‖ beacon 32 ‖
/// challenge u64).
std::uint64_t capability_seed(const Hash32& beacon, std::uint64_t challenge);

/// Draw d is SHA-256("retrace/capability-draw/1" ‖ beacon 32 ‖ challenge u64 ‖ d u32): round = first u64
/// modulo `rounds`, row and column = the next two bytes. 1 ≤ rounds ≤ kCapabilityRoundsMax, count ≤
/// kCapabilityDrawsMax (asserted).
std::vector<CapabilityDraw> capability_draws(const Hash32& beacon, std::uint64_t challenge, std::uint64_t rounds,
                                             std::uint32_t count);

/// S_{t+1} = wrap(P_t · S_tᵀ), with the product in i8x2 by the kernel contract. P_t is a window of 256 rows of a
/// pool of seeded weights. wrap keeps sign and mantissa and sets the exponent of [1, 2), so that values neither
/// overflow nor vanish nor converge.
class CapabilityRules {
public:
    explicit CapabilityRules(std::uint64_t seed);

    /// Row `row` of S_0.
    CapabilityRow first_row(std::uint32_t row) const;
    /// Row `row` of P_round.
    CapabilityRow weights(std::uint64_t round, std::uint32_t row) const;
    std::uint64_t window(std::uint64_t round) const;  ///< First row of P_round in the pool.
    CapabilityRow pool_row(std::uint64_t row) const;
    /// Bits of S_{round+1}[row][column] from row `column` of S_round: the element rule of the referee.
    std::uint32_t element(std::uint64_t round, std::uint32_t row, const CapabilityRow& input) const;

    static constexpr std::uint64_t kPoolRows = 512;

private:
    kernels::PhiloxKey first_, weights_, windows_;
};

/// Computes whole states with the fast kernels.
class CapabilityMachine {
public:
    /// `pool` must outlive the machine.
    CapabilityMachine(std::uint64_t seed, kernels::ThreadPool& pool);

    std::vector<float> first() const;
    /// Computes S_{round+1} into `next` from S_round.
    void step(std::uint64_t round, const std::vector<float>& state, std::vector<float>& next) const;
    const CapabilityRules& rules() const noexcept { return rules_; }

private:
    CapabilityRules rules_;
    kernels::ThreadPool& pool_;
    std::vector<float> weights_;
};

}  // namespace retrace::solver
