// SPDX-License-Identifier: MIT
#include "contracts/records/explain_bids.hpp"

#include <algorithm>
#include <span>

#include "contracts/records/group_views.hpp"
#include "contracts/records/offers.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/rollback_views.hpp"

namespace retrace::contracts::views {
namespace {

struct Revealed {
    std::vector<market::Offer> offers;
    std::vector<ExplainedBid> bids;  // the same order
};

/// Returns the origin of a solver's measured speed, or the reason that it has none.
std::string measured_how(const StateView& view, const Address& party) {
    const auto info = solver(view, party);
    const auto newest = info ? challenge(view, info->challenge) : std::nullopt;
    if (!newest) return "never challenged";
    if (market::is_open(newest->state) && info->capability_height != 0)
        return info->capability != 0 ? "proved; a newer challenge is open" : "lost; a newer challenge is open";
    return std::string(market::slug(newest->state));
}

Revealed revealed_bids(const StateView& view, const market::Task& task) {
    Revealed out;
    out.offers = offers(view, task);
    for (const market::Offer& offer : out.offers) {
        ExplainedBid& bid = out.bids.emplace_back();
        bid.bidder = offer.bidder;
        bid.revealed = true;
        bid.price = offer.price;
        bid.weight_bp = offer.weight_bp;
        bid.score = offer.price * U256(offer.weight_bp);
        bid.finish_height = offer.finish_height;
        bid.capability = offer.capability;
        bid.measured = measured_how(view, offer.bidder);
        if (!offer.fit) bid.outcome = BidOutcome::unfit;
    }
    return out;
}

/// Returns the reason that a bid weighs more than a newcomer's would on a chain without measurements.
std::string why_heavy(const ExplainedBid& bid, std::uint64_t best_capability) {
    if (bid.weight_bp <= market::Offer::kNeutralWeight) return "";
    if (bid.capability == 0 && best_capability != 0)
        return "; the machine counts as the slowest: its capability is not measured (" + bid.measured + ")";
    return "; faults, silences or slower hardware make this bid weigh more than a newcomer's";
}

/// Whether a set of alike speeds with `bid`, one of the first `wanted`, has the highest score of the winners' set, which is
/// then the faster one (market 4.2). `bids`: the fit ones by rank.
bool is_as_cheap(std::span<const ExplainedBid> bids, const ExplainedBid& bid, std::size_t wanted) {
    U256 highest;
    for (const ExplainedBid& one : bids)
        if (!one.paid.is_zero()) highest = one.score;
    const auto alike = [](const ExplainedBid& slowest, const ExplainedBid& one) {
        return one.capability >= slowest.capability && market::alike(slowest.capability, one.capability);
    };
    return std::ranges::any_of(bids, [&](const ExplainedBid& slowest) {
        if (!alike(slowest, bid)) return false;
        std::size_t members = 0;
        const auto last = std::ranges::find_if(
            bids, [&](const ExplainedBid& one) { return alike(slowest, one) && ++members == wanted; });
        return last != bids.end() && last->score == highest;
    });
}

void explain(ExplainedBid& bid, bool wins, std::size_t wanted, std::span<const ExplainedBid> fit,
             std::uint64_t best_capability, bool closed) {
    const std::size_t bids = fit.size();
    const std::string place = "place " + std::to_string(bid.rank) + " of " + std::to_string(bids) +
                              " by price times weight; the first " + std::to_string(wanted) + " win";
    if (bid.outcome == BidOutcome::unfit) {
        bid.why = "set aside: the measured " + std::to_string(bid.capability) +
                  " multiply-adds a block cannot do what is left of the task by height " +
                  std::to_string(bid.finish_height);
    } else if (closed && bids < wanted) {
        bid.outcome = BidOutcome::too_few;
        bid.why = std::to_string(bids) + " bids were revealed and the task asks for " + std::to_string(wanted);
    } else if (wins) {
        bid.outcome = closed ? BidOutcome::won : BidOutcome::leading;
        bid.why = place;
        if (bid.rank > wanted) bid.why += ", and cheaper ones run at another speed";
    } else if (bid.rank <= wanted) {
        bid.outcome = BidOutcome::apart;
        bid.why = place + " if their measured speeds are alike, and " +
                  (is_as_cheap(fit, bid, wanted) ? "a set of faster machines has the same highest score"
                                                 : "this one is unlike the winners'");
    } else {
        bid.outcome = closed ? BidOutcome::outbid : BidOutcome::trailing;
        bid.why = place + why_heavy(bid, best_capability);
    }
}

/// Returns the winners, with `group` by 21.3.
std::vector<market::Winner> winners_of(const std::vector<market::Offer>& offers, std::size_t count, const U256& ceiling,
                                       const std::optional<market::GroupSpec>& group, bool closed) {
    if (!group) return market::clear_auction(offers, count, ceiling);
    const market::Seats seats = market::clear_seats(offers, count, closed ? group->least : 1, ceiling);
    std::vector<market::Winner> out;
    for (const std::size_t offer : seats.offers) out.push_back({offer, seats.price});
    return out;
}

/// Ranks the bids; those that are set aside come last.
void rank(Revealed& all, std::size_t wanted, const U256& ceiling, const std::optional<market::GroupSpec>& group,
          bool closed) {
    std::size_t fit = 0;
    std::uint64_t best_capability = 0;
    for (const market::Offer& offer : all.offers) {
        if (!offer.fit) continue;
        ++fit;
        best_capability = std::max(best_capability, offer.capability);
    }
    // While bids still come in, the present ones lead even if they are too few.
    const std::size_t winners = closed ? wanted : std::min(wanted, fit);
    for (const market::Winner& winner : winners_of(all.offers, winners, ceiling, group, closed))
        all.bids[winner.offer].paid = winner.price;
    std::sort(all.bids.begin(), all.bids.end(), [](const ExplainedBid& a, const ExplainedBid& b) {
        const bool a_out = a.outcome == BidOutcome::unfit, b_out = b.outcome == BidOutcome::unfit;
        if (a_out != b_out) return b_out;
        return a.score != b.score ? a.score < b.score : a.bidder < b.bidder;
    });
    for (std::size_t i = 0; i < all.bids.size(); ++i) {
        ExplainedBid& bid = all.bids[i];
        bid.rank = static_cast<std::uint32_t>(i + 1);
        explain(bid, !bid.paid.is_zero(), group && closed && fit >= group->least ? std::min(wanted, fit) : wanted,
                std::span(all.bids).first(fit), best_capability, closed);
    }
}

ExplainedBid unrevealed(const Address& bidder, bool sealed, bool closed) {
    ExplainedBid out;
    out.bidder = bidder;
    out.outcome = sealed ? BidOutcome::sealed : BidOutcome::hidden;
    if (sealed)
        out.why = "committed; bids are revealed when bidding has ended";
    else if (closed)
        out.why = "committed and never revealed: the bid did not take part and its deposit is burned";
    else
        out.why = "committed and not revealed yet; without a reveal in time its deposit is burned";
    return out;
}

}  // namespace

std::string_view slug(BidOutcome outcome) noexcept {
    switch (outcome) {
        case BidOutcome::sealed: return "sealed";
        case BidOutcome::hidden: return "hidden";
        case BidOutcome::leading: return "leading";
        case BidOutcome::trailing: return "trailing";
        case BidOutcome::won: return "won";
        case BidOutcome::outbid: return "outbid";
        case BidOutcome::too_few: return "too-few";
        case BidOutcome::unfit: return "unfit";
        case BidOutcome::apart: return "apart";
    }
    return "unknown";
}

std::optional<std::vector<ExplainedBid>> explain_bids(const StateView& view, std::uint64_t id, bool closed) {
    const auto found = task(view, id);
    const auto spec = views::spec(view, id);
    if (!found || !spec) return std::nullopt;
    Revealed all = revealed_bids(view, *found);
    const bool sealed = !closed && all.bids.empty();
    rank(all, found->wanted != 0 ? found->wanted : spec->replicas, spec->price_ceiling, group_spec(view, id), closed);
    for (const Address& bidder : found->bidders) {
        const auto record = bid(view, id, bidder);
        if (record && !record->revealed) all.bids.push_back(unrevealed(bidder, sealed, closed));
    }
    return std::move(all.bids);
}

std::vector<CallStatus> bid_obstacles(const StateView& view, std::uint64_t id, const Address& party) {
    const auto found = task(view, id);
    const auto spec = views::spec(view, id);
    const auto params = views::params(view);
    if (!found || !spec || !params) return {CallStatus::unknown_task};
    std::vector<CallStatus> out;
    const auto listed = [&](const std::vector<Address>& list) {
        return std::find(list.begin(), list.end(), party) != list.end();
    };
    const bool has_bid = listed(found->bidders);
    if (found->requester == party) out.push_back(CallStatus::own_task);
    if (listed(found->excluded)) out.push_back(CallStatus::excluded);
    const auto runs_it = [&](std::uint32_t index) {
        const auto active = run(view, id, index);
        return active && active->solver == party;
    };
    if (std::any_of(found->active.begin(), found->active.end(), runs_it)) out.push_back(CallStatus::already_running);
    const auto info = solver(view, party);
    if (!info) out.push_back(CallStatus::not_registered);
    if (info && spec->hardware_class != 0 && spec->hardware_class != info->hardware_class)
        out.push_back(CallStatus::wrong_hardware);
    const auto fee = bid_place_fee(view, *params, *found);
    if (!has_bid && view.account(party).balance < params->bid_deposit + fee.value_or(U256()))
        out.push_back(CallStatus::balance_too_low);
    if (!has_bid && !fee) out.push_back(CallStatus::auction_full);
    if (open_work(view, party) - (has_bid ? 1 : 0) >= market::kOpenItemsMax) out.push_back(CallStatus::too_many_open);
    const auto own = has_bid ? bid(view, id, party) : std::nullopt;
    const auto floor = stake_floor(view, *params, id);
    const U256 usable = free_stake(view, *params, party) + (own ? own->locked : U256());
    if (!floor)
        out.push_back(CallStatus::no_stake_suffices);
    else if (usable < *floor)
        out.push_back(CallStatus::stake_too_low);
    return out;
}

}  // namespace retrace::contracts::views
