// SPDX-License-Identifier: MIT
// Explains to people why a bid was not made, not accepted or not winning, by the rules of the auction (SPEC 12.3, 12.4,
// market 4). Reads one state and changes nothing.
#pragma once

#include "contracts/calls/call_status.hpp"
#include "contracts/records/views.hpp"

namespace retrace::contracts::views {

/// The standing of a bid. Bids are records of the current auction only, so they must be read in its last block or
/// before.
enum class BidOutcome : std::uint8_t {
    sealed = 1,   ///< Committed; reveals have not begun.
    hidden = 2,   ///< Not revealed (yet); once the auction is closed its deposit is burned.
    leading = 3,  ///< Would win if no further bid were revealed.
    trailing = 4,
    won = 5,
    outbid = 6,
    too_few = 7,  ///< Fewer bids were revealed than the task has replicas: no winner.
    unfit = 8,    ///< Set aside: the machine's measured speed cannot keep the promised height.
    apart = 9,    ///< Its score would do, but a set of other speeds is better, or as good and faster.
};
constexpr BidOutcome last_of(BidOutcome) { return BidOutcome::apart; }
std::string_view slug(BidOutcome outcome) noexcept;

struct ExplainedBid {
    Address bidder;
    BidOutcome outcome{};
    bool revealed = false;
    U256 price;                    ///< Asked price per segment; zero while sealed.
    U256 paid;                     ///< Price that a winner is paid per segment; zero for others.
    std::uint64_t weight_bp = 0;   ///< From reputation and measured capability; 10,000 is neutral.
    std::uint64_t capability = 0;  ///< Measured multiply-adds per block; 0: not measured.
    std::string measured;          ///< Origin of `capability`: "proved", "unproved", "never challenged" …
    U256 score;                    ///< price × weight; the lowest wins.
    std::uint32_t rank = 0;        ///< 1 is the best; 0 while not revealed.
    std::uint64_t finish_height = 0;
    std::string why;  ///< Reason for the outcome, one sentence.
    static auto tie(auto& b) {
        return std::tie(b.bidder, b.outcome, b.revealed, b.price, b.paid, b.weight_bp, b.score, b.rank, b.finish_height,
                        b.capability, b.measured, b.why);
    }
    static market::Names names() {
        return {"bidder", "outcome", "revealed",     "price",      "paid",     "weightBp",
                "score",  "rank",    "finishHeight", "capability", "measured", "why"};
    }
};

/// Returns the bids in order of rank, unrevealed ones last; nullopt for an unknown task. `closed`: the auction has
/// ended, and `view` is the state after its last block.
std::optional<std::vector<ExplainedBid>> explain_bids(const StateView& view, std::uint64_t task, bool closed);

/// Returns every rule that keeps `solver` from bidding on `task` in this state, in the order of the rules; if empty,
/// the solver may bid. For a solver that has a bid: the rules that keep it from revealing.
std::vector<CallStatus> bid_obstacles(const StateView& view, std::uint64_t task, const Address& solver);

}  // namespace retrace::contracts::views
