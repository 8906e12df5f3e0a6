// SPDX-License-Identifier: MIT
// What a solver bids for, and how much: the part of `retrace solver` that decides with the market's rules.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "contracts/calls/calls.hpp"
#include "node/agents/sealed_bids.hpp"
#include "node/agents/views.hpp"

namespace retrace::node {

class Bidding {
public:
    struct Wish {
        /// For a segment; none: four fifths of the ceiling, at least its calls' fees.
        std::optional<ledger::U256> price;
        std::uint8_t hardware_class = 0;
        std::set<std::uint64_t> only;       ///< Bids for these tasks; empty: for all.
    };
    /// Bids that are begun in one block: each is written to disk and sent before anything else is looked at.
    static constexpr std::size_t kBegunMax = 32;

    Bidding(Wish wish, std::filesystem::path folder, const ledger::Address& self)
        : wish_(std::move(wish)), sealed_(std::move(folder)), self_(self) {}

    /// What is asked for a segment. `base_fee`: of one gas, now.
    Quote quote(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                std::uint64_t task, const market::TaskSpec& spec) const;
    /// Whether a run that was won pays for its work though segments that the others have committed may be unpaid.
    bool is_worth(const ledger::U256& base_fee, const market::Run& run, const market::TaskSpec& spec) const;
    /// The same as `quote`, and says once why there is no bid.
    Quote consider(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                   std::uint64_t task, const market::TaskSpec& spec);
    /// A view that was read whole. Of the auctions that may be bid in it keeps those that bring most, dearest first, so
    /// that a crowd of cheap ones takes neither stake nor time from them; forgets what belongs to auctions that are
    /// over.
    void look(const ledger::StateView& state, const market::Params& params, Immutable& immutable,
              solver::SolverView& view);
    /// The call, once its price is on disk; nothing where the quote holds no more. Who bid in this auction before, bids
    /// the same: the first bid may be on its way, and what is on disk must open it.
    Result<std::optional<contracts::CommitBid>> commit(const solver::CommitBid& move, const Quote& quote,
                                                       const market::Params& params, const market::TaskSpec& spec,
                                                       std::uint64_t height);
    Result<contracts::RevealBid> reveal(const solver::RevealBid& move) const;

    /// Of what it remembers: auctions, reasons and bids that are on their way.
    std::size_t remembered() const noexcept {
        return told_.size() + told_before_.size() + reveal_ends_.size() + promised_.size();
    }
    const SealedBids& sealed() const noexcept { return sealed_; }

private:
    /// Stake that a bid locks as soon as a block takes it.
    struct Promise {
        ledger::U256 stake;
        std::uint64_t height = 0;  ///< At which it was sent.
    };
    ledger::U256 promised_but(std::uint64_t task) const;

    Wish wish_;
    SealedBids sealed_;
    ledger::Address self_;
    std::set<std::uint64_t> told_, told_before_;          ///< Tasks whose reason was said: in this view, in the last.
    std::map<std::uint64_t, std::uint64_t> reveal_ends_;  ///< By task, of the auctions of the last view.
    std::map<std::uint64_t, Promise> promised_;           ///< By task.
    std::uint64_t swept_height_ = 0;
};

/// What a solver's calls for one segment cost at this base fee: its commitment with two reminders, and its openings.
ledger::U256 segment_fees(const ledger::U256& base_fee);

}  // namespace retrace::node
