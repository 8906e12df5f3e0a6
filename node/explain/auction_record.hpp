// SPDX-License-Identifier: MIT
// What the rules said, in one block of an auction, of its bids and of the solvers that did not bid.
#pragma once

#include <optional>
#include <vector>

#include "contracts/records/explain_bids.hpp"

namespace retrace::node {

/// Solvers that one rule keeps from bidding.
struct RuleCount {
    std::uint32_t rule = 0;  ///< contracts::CallStatus
    std::uint64_t solvers = 0;
    static auto tie(auto& c) { return std::tie(c.rule, c.solvers); }
};

/// What the rules say of the solvers that have no bid.
struct OtherSolvers {
    std::uint64_t registered = 0;      ///< Solvers without a bid that are registered,
    std::uint64_t examined = 0;        ///< those that were looked at,
    std::uint64_t free = 0;            ///< and those of them that no rule keeps from bidding.
    std::vector<RuleCount> obstacles;  ///< By rule, ascending.
    ledger::U256 most_stake;           ///< The greatest free stake of those that have too little.
    static auto tie(auto& o) { return std::tie(o.registered, o.examined, o.free, o.obstacles, o.most_stake); }
    bool meets(contracts::CallStatus rule) const;
};

struct AuctionRecord {
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    std::uint64_t height = 0;  ///< Of the state that was read.
    ledger::U256 price_ceiling;
    bool has_stake_floor = false;  ///< false: no stake is enough.
    ledger::U256 stake_floor;      ///< Stake that a bid locks.
    std::vector<contracts::views::ExplainedBid> bids;
    OtherSolvers others;
    static auto tie(auto& a) {
        return std::tie(a.task, a.round, a.height, a.price_ceiling, a.has_stake_floor, a.stake_floor, a.bids, a.others);
    }
    std::optional<ledger::U256> floor() const { return has_stake_floor ? std::optional(stake_floor) : std::nullopt; }
};

/// Each costs some reads of the state.
inline constexpr std::size_t kSolversExamined = 64;

/// Returns nullopt for an unknown task. `view`: the state after block `height`, in which the bids still are; with
/// `closed` it is the last one of the auction. `others` is left empty if somebody won; at most `solvers` of them are
/// examined.
std::optional<AuctionRecord> examine_auction(const ledger::StateView& view, std::uint64_t task, std::uint64_t height,
                                             bool closed, std::size_t solvers = kSolversExamined);

}  // namespace retrace::node
