// SPDX-License-Identifier: MIT
// Losses and payments when a dispute is decided, or when a run falls silent under one. SPEC 15.4 to 15.10.
#pragma once

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {

/// Ends a dispute whose game is decided: convicts the loser and pays the winner.
void settle(Effects& fx, market::Dispute& dispute, const verifier::Game& game);
/// 15.10: returns the parts of a silent solver's lock that a party gets that had a dispute about the run open: the
/// drawn auditor, or else the challenger, whose dispute was opened first. Late challenges do not count. Without one it
/// is the replica that the run accuses.
std::vector<Share> shares_of_accuser(const Effects& fx, const market::Run& run);
/// 15.9.1: a run loses its whole lock: pays the fee to each auditor with a root of its own that plays or waits to,
/// unless it has one of the shares.
void pay_finders(Effects& fx, const market::Run& run, const std::vector<Share>& shares);

}  // namespace retrace::contracts
