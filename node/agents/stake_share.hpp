// SPDX-License-Identifier: MIT
// The share of a solver's stake that one task may lock. A task locks the stake of all that bid for it for as long as its
// auction lasts, and its requester may want no work at all: a dear one must not keep a solver from all others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "market/params.hpp"

namespace retrace::node {

inline constexpr std::uint64_t kStakeShare = 50;  ///< Per cent.

/// What a bid locks for a task of a coin a segment with the default terms; nullopt: by the chain's rules no stake suffices.
std::optional<ledger::U256> usual_lock(const market::Params& params);

/// Why a lock is more than one task may take of `bonded`; empty: it is not. `share`: 1 to 100 per cent. As much as usual_lock
/// is allowed in any case: a solver with so little stake is kept busy by any task.
std::string exceeds_share(const market::Params& params, const ledger::U256& lock, const ledger::U256& bonded,
                          std::uint64_t share);

}  // namespace retrace::node
