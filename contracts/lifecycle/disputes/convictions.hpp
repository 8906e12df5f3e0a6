// SPDX-License-Identifier: MIT
// Losses and payments when a dispute is decided, or when a run falls silent under one. SPEC 15.4 to 15.10.
#pragma once

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {

/// Ends a dispute whose game is decided: convicts the loser and pays the winner.
void settle(Effects& fx, market::Dispute& dispute, const verifier::Game& game);
/// 15.10: returns the shares of a silent solver's lock. They go to the challenger of one open dispute about the run:
/// the first of a drawn auditor, else the first of any. Late challenges do not count. Without such a dispute they go to
/// the replica that the run accuses, else to nobody.
std::vector<Share> shares_for_challenger(const Effects& fx, const market::Run& run);
/// Whether a dispute about the run is open that is no late challenge.
bool is_disputed(const StateView& view, const market::Run& run);
/// 15.9.1: called when a run loses its whole lock. Pays the audit fee to each auditor that disputes the run or waits to
/// dispute it, unless it gets one of the shares.
void pay_disputing_auditors(Effects& fx, const market::Run& run, const std::vector<Share>& shares);

}  // namespace retrace::contracts
