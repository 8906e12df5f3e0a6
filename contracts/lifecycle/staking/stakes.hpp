// SPDX-License-Identifier: MIT
// Stakes: bonded ≥ locked ≥ 0 always. SPEC 10.
#pragma once

#include <vector>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Locks `amount` of the available stake (the rule has checked it).
void lock(Effects& fx, const Address& party, const U256& amount);
void unlock(Effects& fx, const Address& party, const U256& amount);

enum class SlashReason : std::uint8_t {
    wrong_result = 1,      ///< A dispute was lost by the solver.
    wrong_initial = 2,     ///< The run's first state is not the agreed one.
    not_opened = 3,        ///< A state of a drawn segment was not opened in time.
    not_checkpointed = 4,  ///< A checkpoint was missed.
    not_served = 5,        ///< A reported tile was not posted.
    verdict_missed = 6,    ///< No verdict was committed.
    verdict_hidden = 7,    ///< A committed verdict was not revealed.
    false_accusation = 8,  ///< A dispute was lost by the challenger.
    beacon_missed = 9,
    not_kept = 10,     ///< A keeper did not have an attested state when it was needed.
    not_audited = 11,  ///< Most drawn auditors of a segment were not served. Also the reason of runs that end unaudited
                       ///< without a slash.
    capability_unproved = 12,  ///< A benchmark run was claimed and not proved.
    votes_missed = 13,         ///< A validator did not vote.
    signed_twice = 14,         ///< A validator signed two blocks of one height.
    wrong_shares = 15,         ///< A member of a group sealed something else than a share of its secret.
    not_played = 16,           ///< The solver of a late run did not move in a late challenge (15.10.1).
    not_honoured = 17,         ///< A reserved solver did not accept its task's data.
};
std::string_view slug(SlashReason reason) noexcept;

struct Share {
    Address to;
    U256 amount;
};
/// Takes `amount` of the party's locked stake: the shares (at most `amount` in all) go to others, the rest is burned.
void slash_locked(Effects& fx, const Address& party, std::uint64_t task, const U256& amount,
                  const std::vector<Share>& shares, SlashReason reason);
/// Burns up to `amount` of the stake that is not locked, or all of it if there is less.
void slash_available(Effects& fx, const Address& party, std::uint64_t task, const U256& amount, SlashReason reason);

}  // namespace retrace::contracts
