// SPDX-License-Identifier: MIT
// The set of validators: its elections, and what an engine's reports do to its members. SPEC 20.
#pragma once

#include <span>

#include "contracts/lifecycle/effects.hpp"
#include "contracts/records/validator_views.hpp"

namespace retrace::contracts {

/// Writes the validators of the genesis. They are the first set.
void found_validators(ledger::State& state, std::span<const ledger::Validator> founders,
                      const market::ValidatorRules& rules);
/// Registers keys of an account that no account has registered before.
void register_keys(Effects& fx, const Address& account, const RegisteredKey& keys);
/// Stores a validator's record after its stake, or its right to be in the set, changed. It becomes a candidate if it
/// may have power and there is a place, or one of a candidate with less power.
void store_validator(Effects& fx, const Address& account, const market::ValidatorInfo& info);
bool is_validator_candidate(const StateView& view, const Address& account);
/// Whether `store_validator` would find a place for a candidate of this power.
bool has_validator_place(const StateView& view, const Address& account, std::uint64_t power);

/// 20.5: validators that did not vote for the block before. 20.6: validators that signed twice.
void note_missed_votes(Effects& fx, std::span<const ledger::ConsensusAddress> missed);
void punish_misbehavior(Effects& fx, std::span<const ledger::Misbehavior> misbehavior);
/// 20.8: mixes the shares of the validators' votes for the block before into the beacon of this epoch.
void note_shares(Effects& fx, std::uint64_t chain_id, std::span<const ledger::BeaconShare> shares);
/// 20.9: notes the vote, and decides if more than two thirds of the power want the same.
void vote_upgrade(Effects& fx, const UpgradeVote& vote);
/// 20.9: the version by which the block of that height is executed.
std::uint64_t rules_version_at(const StateView& view, std::uint64_t height);
/// 20.9: at the height that was decided, the next version becomes the current one.
void upgrade_if_due(Effects& fx);
/// 20.4: at the first block of an epoch, the candidates with most power become the set.
void elect_validators(Effects& fx);

}  // namespace retrace::contracts
