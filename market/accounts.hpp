// SPDX-License-Identifier: MIT
// Records of the contracts about parties: stakes, solvers, verifiers. SPEC 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ledger/types/address.hpp"
#include "ledger/types/u256.hpp"

namespace retrace::market {

using ledger::Address;
using ledger::U256;
/// Names of a record's fields, as the ABI shows them, in the order of `tie`.
using Names = std::vector<std::string_view>;

struct Stake {
    U256 bonded;  ///< Includes `locked`.
    U256 locked;
    U256 unbonding;
    std::uint64_t unbond_height = 0;  ///< Height from which `unbonding` may be withdrawn.
    bool operator==(const Stake&) const = default;
    static auto tie(auto& s) { return std::tie(s.bonded, s.locked, s.unbonding, s.unbond_height); }
    static Names names() { return {"bonded", "locked", "unbonding", "unbondHeight"}; }
    U256 available() const { return bonded - locked; }
};

/// The record of a solver on this chain, by which its bids are weighed.
struct Reputation {
    std::uint32_t settled = 0;   ///< Tasks finished.
    std::uint32_t faults = 0;    ///< Convictions.
    std::uint32_t silences = 0;  ///< Missed deadlines, of an acceptance too, and most auditors not served.
    std::uint64_t segments = 0;  ///< Segments paid.
    bool operator==(const Reputation&) const = default;
    static auto tie(auto& r) { return std::tie(r.settled, r.faults, r.silences, r.segments); }
    static Names names() { return {"settled", "faults", "silences", "segments"}; }
};

struct SolverInfo {
    std::string endpoint;  ///< Where artifacts are served.
    std::uint8_t hardware_class = 0;
    std::uint64_t height = 0;      ///< Height of the registration.
    std::uint64_t capability = 0;  ///< Proved multiply-adds per block; 0: not measured, or lost.
    Reputation reputation;
    std::uint64_t capability_height = 0;  ///< Height at which `capability` was proved or lost; 0: never.
    std::uint64_t challenge = 0;          ///< The newest challenge; 0: none yet.
    std::uint64_t challenge_height = 0;   ///< Height at which that challenge was opened.
    bool operator==(const SolverInfo&) const = default;
    static auto tie(auto& s) {
        return std::tie(s.endpoint, s.hardware_class, s.height, s.capability, s.reputation, s.capability_height,
                        s.challenge, s.challenge_height);
    }
    static Names names() {
        return {"endpoint",   "hardwareClass",    "height",    "capability",
                "reputation", "capabilityHeight", "challenge", "challengeHeight"};
    }
};

/// A verifier is a member of the beacon as long as it reveals.
struct VerifierInfo {
    std::string endpoint;
    bool member = false;               ///< Only members are drawn and counted.
    bool retiring = false;             ///< Leaves when its last reveal is mixed.
    Hash32 head;                       ///< Newest revealed value of its hash chain, or the registered one.
    Hash32 pending_head;               ///< Head of a new chain that counts from the next epoch; zero: none.
    std::uint64_t joined_epoch = 0;    ///< Reveals are due in epochs after this one.
    std::uint64_t revealed_epoch = 0;  ///< The newest epoch it revealed in.
    std::uint64_t audits = 0;          ///< Paid audits,
    std::uint64_t missed = 0;          ///< and missed seats or reveals.
    U256 weight;                       ///< Stake at the start of the previous epoch, used by draws.
    U256 next_weight;                  ///< Stake at the start of this epoch.
    bool operator==(const VerifierInfo&) const = default;
    static auto tie(auto& v) {
        return std::tie(v.endpoint, v.member, v.retiring, v.head, v.pending_head, v.joined_epoch, v.revealed_epoch,
                        v.audits, v.missed, v.weight, v.next_weight);
    }
    static Names names() {
        return {"endpoint",      "member", "retiring", "head",   "pendingHead", "joinedEpoch",
                "revealedEpoch", "audits", "missed",   "weight", "nextWeight"};
    }
};

}  // namespace retrace::market
