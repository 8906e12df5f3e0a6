// SPDX-License-Identifier: MIT
// Amounts of escrow, fees and splits. SPEC 6. Every split is exact: the parts sum to the whole.
#pragma once

#include <optional>

#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::market {

/// Fee of each auditor of a segment: a share of the segment's price ceiling, because a replay costs as much as the
/// segment costs its solver; at least the chain's own fee.
U256 audit_fee(const Params& params, const TaskSpec& spec);

/// Bond that a challenge must bring. It is at least four of the segment's price ceilings, because half of a lost bond
/// goes to the solver (solver_cost_bp), which had to compute the segment up to twice.
U256 challenge_bond(const Params& params, const TaskSpec& spec);

/// Escrow that postTask must bring; nullopt on overflow (the ceiling is refused before that).
struct Escrow {
    U256 work;    ///< highest ceiling · n · r
    U256 audits;  ///< its audit fee · v · n · r
    U256 total() const { return work + audits; }
};
std::optional<Escrow> escrow_of(const TaskSpec& spec, const Params& params);

/// A slashed amount: one share is paid out, the rest is burned.
struct Split {
    U256 share, burned;
};
Split split(const U256& amount, std::uint64_t share_bp);

/// The challenger's parts of a convicted solver's lock. `costs` are one audit fee of the task, but limited so that
/// enough is burned to keep honesty the best strategy: (1-a) · S - costs ≥ (1-a) · S / safety, so accusing oneself
/// stays a loss (SPEC 5.2 and 6.3).
struct Conviction {
    U256 share, costs;
};
Conviction conviction(const U256& lock, const U256& audit_fee, const Params& params);

/// What a task whose escrow covers the highest ceiling of `spec`, and whose last auction began at state `first`, brings so
/// that its ceiling may rise to `ceiling`; nothing if that is covered. SPEC 6.7
Escrow escrow_of_top_up(const TaskSpec& spec, const Params& params, std::uint64_t first, const U256& ceiling);

/// Returns the escrow that another `replicas` of a task need when they run the segments from `first` on.
Escrow escrow_of_more(const TaskSpec& spec, const Params& params, std::uint64_t first, std::uint8_t replicas);

}  // namespace retrace::market
