// SPDX-License-Identifier: MIT
// The validators: operators whose votes decide the blocks.
#pragma once

#include <vector>

#include "ledger/crypto/vrf.hpp"
#include "ledger/types/address.hpp"

namespace retrace::ledger {

/// What CometBFT calls a validator's address: the first 20 bytes of SHA-256 of its key. It is no account.
using ConsensusAddress = std::array<std::uint8_t, 20>;
ConsensusAddress consensus_address(const Hash32& key);

struct Validator {
    Hash32 key;               ///< Ed25519 public key that signs votes.
    Address account;          ///< Receives the tips of the blocks that the validator proposes.
    std::uint64_t power = 1;  ///< Its weight in votes, 1..kPowerMax.
    VrfKey vrf_key;           ///< Proves its shares of the beacon.
};

inline constexpr std::size_t kValidatorsMax = 100;
inline constexpr std::uint64_t kPowerMax = 1'000'000'000;

/// A validator that signed two blocks of one height, or a block that deceives light clients.
struct Misbehavior {
    ConsensusAddress validator{};
    std::uint64_t height = 0;  ///< Of the votes.
    bool operator==(const Misbehavior&) const = default;
};

/// A validator's share of the beacon: the VRF's proof for the height before the block.
struct BeaconShare {
    ConsensusAddress validator{};
    VrfProof proof{};
    bool operator==(const BeaconShare&) const = default;
};

/// What an engine says about a block besides its transactions. SPEC 5.3.9
struct EngineReport {
    std::vector<ConsensusAddress> missed;  ///< Validators of the block before that did not vote for it.
    std::vector<Misbehavior> misbehavior;
    std::vector<BeaconShare> shares;
    bool operator==(const EngineReport&) const = default;
    bool empty() const noexcept { return missed.empty() && misbehavior.empty() && shares.empty(); }
};

}  // namespace retrace::ledger
