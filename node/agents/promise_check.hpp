// SPDX-License-Identifier: MIT
// Whether this machine would keep its word, before a solver promises its time (contracts 12.11).
#pragma once

#include <optional>

#include "node/agents/bidding.hpp"
#include "node/agents/chain_reader.hpp"
#include "solver/run/device.hpp"

namespace retrace::node {

/// Why the solver would break the reservation with this machine, whose processors it measures with `threads` threads (0: all)
/// for a moment; nullopt: it would keep it, or the ledger refuses to accept it. Bids that may still win are not known here.
Result<std::optional<Bidding::Unkept>> check_promise(ChainReader& chain, const ledger::Address& solver,
                                                     std::uint64_t reservation, solver::DeviceChoice device,
                                                     unsigned threads);

}  // namespace retrace::node
