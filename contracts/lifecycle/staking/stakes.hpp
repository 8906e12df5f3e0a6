// SPDX-License-Identifier: MIT
// Stakes: bonded ≥ locked ≥ 0 always. SPEC 10.
#pragma once

#include <vector>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Locks `amount` of what is available (checked by the rule).
void lock(Effects& fx, const Address& party, const U256& amount);
void unlock(Effects& fx, const Address& party, const U256& amount);

enum class SlashReason : std::uint8_t {
    wrong_result = 1,       ///< A dispute was lost by the solver.
    wrong_initial = 2,      ///< The run's first state is not the agreed one.
    not_opened = 3,         ///< A state of a drawn segment was not opened in time.
    not_checkpointed = 4,   ///< A checkpoint was missed.
    not_served = 5,         ///< A reported tile was not posted.
    verdict_missed = 6,     ///< No verdict was committed.
    verdict_hidden = 7,     ///< A committed verdict was not revealed.
    false_accusation = 8,   ///< A dispute was lost by the challenger.
    beacon_missed = 9,
    not_kept = 10,          ///< An attested state was not there when it was needed.
    not_audited = 11,       ///< None of all who were drawn for a segment was served.
    capability_unproved = 12,   ///< A benchmark run was claimed and not proved.
};
std::string_view slug(SlashReason reason) noexcept;

struct Share {
    Address to;
    U256 amount;
};
/// Takes `amount` of the party's locked stake: the shares (at most `amount` in all) go to others, the rest is burned.
void slash_locked(Effects& fx, const Address& party, std::uint64_t task, const U256& amount,
                  const std::vector<Share>& shares, SlashReason reason);
/// Burns up to `amount` of what is not locked (or all that there is).
void slash_available(Effects& fx, const Address& party, std::uint64_t task, const U256& amount, SlashReason reason);

}  // namespace retrace::contracts
