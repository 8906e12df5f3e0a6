// SPDX-License-Identifier: MIT
#include "contracts/records/offers.hpp"

#include "contracts/records/store.hpp"

namespace retrace::contracts::views {

std::vector<market::Offer> offers(const StateView& view, const market::Task& task) {
    std::vector<market::RevealedBid> bids;
    for (const Address& bidder : task.bidders) {
        const auto bid = must_load<market::Bid>(view, keys::bid(task.id, bidder));
        if (!bid.revealed) continue;
        const auto info = must_load<market::SolverInfo>(view, keys::solver(bidder));
        bids.push_back({bidder, bid.price, bid.finish_height, info.reputation, info.capability});
    }
    const auto params = must_load<market::Params>(view, keys::params());
    const auto spec = must_load<market::TaskSpec>(view, keys::spec(task.id));
    return market::score_bids(bids, market::demand_of(params, spec, joining_state(view, task).index, task.reveal_end));
}

}  // namespace retrace::contracts::views
