// SPDX-License-Identifier: MIT
// What a solver's work was worth to auditors whom nobody chose, and what it lost, with decay. SPEC 13.
#pragma once

#include "market/accounts.hpp"

namespace retrace::market {

/// Blocks between two steps of the decay, which happen at the multiples of this height.
inline constexpr std::uint64_t kDecayBlocks = std::uint64_t{1} << 18;

/// Facts about a solver, as they weighed at `height`.
struct Standing {
    U256 verified;             ///< Fees paid to auditors that got the same bits as the solver.
    U256 lost;                 ///< Stake that it lost in runs.
    std::uint64_t height = 0;  ///< Height of the last change.
    bool operator==(const Standing&) const = default;
    static auto tie(auto& s) { return std::tie(s.verified, s.lost, s.height); }
    static Names names() { return {"verified", "lost", "height"}; }
};

/// 13.2: the same facts at a later height. `height` is not less than the standing's (asserted).
Standing decayed(const Standing& standing, std::uint64_t height);
/// 13.1: the standing after an auditor that got the same bits was paid `fee`.
Standing with_verified(const Standing& standing, const U256& fee, std::uint64_t height);
/// 13.3: the standing after a loss of stake. `convicted`: for a wrong result.
Standing with_loss(const Standing& standing, const U256& amount, bool convicted, std::uint64_t height);

}  // namespace retrace::market
