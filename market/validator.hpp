// SPDX-License-Identifier: MIT
// Validators of a chain: their parameters, fixed in genesis, and their records (contracts 20).
#pragma once

#include "ledger/exec/validator.hpp"
#include "market/params.hpp"

namespace retrace::market {

using ledger::Address;

/// Stake that gives one unit of power: a thousandth of a coin.
inline constexpr std::uint64_t kStakePerPower = kMilli;
/// Validators that wait for a place in the set, or have one.
inline constexpr std::size_t kValidatorCandidatesMax = 200;

struct ValidatorRules {
    std::uint64_t places = 0;                 ///< Of the set; 0: it is closed, its members are those of the genesis.
    U256 min_stake = 1'000 * kMilli;          ///< Of a validator.
    std::uint64_t unbond_blocks = 1'814'400;  ///< For a validator's stake.
    /// Evidence about a vote is valid for so long. A node that fetched a snapshot cannot check evidence about blocks
    /// below it (node/server/comet/README), so the time is short.
    std::uint64_t evidence_blocks = 20'000;
    std::uint64_t downtime_blocks = 10'000;  ///< A validator that misses more than half of so many votes is jailed,
    std::uint64_t jail_blocks = 1'000;       ///< for so long,
    std::uint64_t downtime_bp = 1;           ///< and loses this share of its stake.
    std::uint64_t double_sign_bp = 500;      ///< Share of its stake that one loses who signs twice.
    bool operator==(const ValidatorRules&) const = default;

    static auto tie(auto& r) {
        return std::tie(r.places, r.min_stake, r.unbond_blocks, r.evidence_blocks, r.downtime_blocks, r.jail_blocks,
                        r.downtime_bp, r.double_sign_bp);
    }
    static std::vector<std::string_view> names() {
        return {"places",         "minStake",   "unbondBlocks", "evidenceBlocks",
                "downtimeBlocks", "jailBlocks", "downtimeBp",   "doubleSignBp"};
    }
    bool is_open() const noexcept { return places != 0; }
};

Bytes encode(const ValidatorRules& rules);
/// Fails with a codec error or with the message of `check`.
Result<ValidatorRules> decode_validator_rules(View bytes);
Status<> check(const ValidatorRules& rules);

struct ValidatorInfo {
    Hash32 key;     ///< Ed25519 key of its votes.
    Bytes vrf_key;  ///< P-256 key of its shares of the beacon.
    U256 stake;     ///< Locked of its account's stake; gives power.
    U256 leaving;   ///< Locked too, without power, until `leaving_height`.
    std::uint64_t leaving_height = 0;
    std::uint64_t granted = 0;        ///< Power that the genesis gave, beside the stake's.
    std::uint64_t jailed_until = 0;   ///< Height from which it may end its jail; 0: it is not jailed.
    bool double_signed = false;       ///< It is out for ever.
    std::uint64_t missed_window = 0;  ///< Number of the window of `downtime_blocks` in which it missed a vote last,
    std::uint64_t missed = 0;         ///< and the votes that it missed in that window.
    std::uint64_t missed_epoch = 0;   ///< The same for an epoch.
    std::uint64_t epoch_missed = 0;
    bool operator==(const ValidatorInfo&) const = default;
    static auto tie(auto& v) {
        return std::tie(v.key, v.vrf_key, v.stake, v.leaving, v.leaving_height, v.granted, v.jailed_until,
                        v.double_signed, v.missed_window, v.missed, v.missed_epoch, v.epoch_missed);
    }
    static std::vector<std::string_view> names() {
        return {"key",         "vrfKey",       "stake",        "leaving", "leavingHeight", "granted",
                "jailedUntil", "doubleSigned", "missedWindow", "missed",  "missedEpoch",   "epochMissed"};
    }
};

/// Power that the validator may have in the set: at most ledger::kPowerMax, and 0 while it is jailed, or for ever once
/// it signed twice. Stake counts where the set is open.
std::uint64_t power_of(const ValidatorInfo& info, const ValidatorRules& rules);

}  // namespace retrace::market
