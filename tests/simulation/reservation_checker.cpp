// SPDX-License-Identifier: MIT
#include "tests/simulation/reservation_checker.hpp"

#include "contracts/calls/encode.hpp"
#include "contracts/records/views.hpp"
#include "ledger/state/supply.hpp"
#include "tests/simulation/reservation_money.hpp"

namespace retrace::sim {
namespace {

using ledger::U256;
using market::ReservationState;

/// The states that may follow, each with what the height must be.
bool may_follow(ReservationState from, ReservationState to, const contracts::TimeReserved& terms,
                std::uint64_t height) {
    switch (to) {
        case ReservationState::accepted: return from == ReservationState::offered && height < terms.from;
        case ReservationState::withdrawn: return from == ReservationState::offered && height < terms.from;
        case ReservationState::lapsed: return from == ReservationState::offered && height >= terms.from;
        case ReservationState::unused: return from == ReservationState::accepted && height >= terms.until;
        case ReservationState::begun:
            return from == ReservationState::accepted && height >= terms.from && height < terms.until;
        case ReservationState::honoured:
        case ReservationState::released:
        case ReservationState::broken: return from == ReservationState::begun;
        case ReservationState::offered: break;
    }
    return false;
}

}  // namespace

void ReservationChecker::take(const contracts::ReservationChanged& event, std::uint64_t height,
                              const std::vector<contracts::Slashed>& slashed, Due& due,
                              std::vector<std::string>& broken) {
    const std::string which = "reservation " + std::to_string(event.reservation);
    const auto found = offers_.find(event.reservation);
    if (found == offers_.end()) return broken.push_back(which + " changes and was never offered");
    Offer& offer = found->second;
    const auto to = static_cast<ReservationState>(event.state);
    if (!may_follow(offer.state, to, offer.terms, height))
        broken.push_back(which + " became " + std::string(market::slug(to)) + " at height " + std::to_string(height));
    offer.state = to;
    const U256& deposit = offer.terms.deposit;
    if (to == ReservationState::begun) of_task_[event.task] = event.reservation;
    if (to == ReservationState::unused) due.to[offer.terms.solver] += deposit;
    if (to == ReservationState::honoured || to == ReservationState::lapsed || to == ReservationState::withdrawn ||
        to == ReservationState::released)
        due.to[offer.terms.requester] += deposit;
    if (to != ReservationState::broken) return;
    due.burned += deposit;  // And as much of the stake, which its event says.
    for (const ledger::Address& party : {offer.terms.requester, offer.terms.solver}) due.to[party] += U256();
    U256 lost;
    for (const contracts::Slashed& one : slashed) {
        if (one.party != offer.terms.solver || one.task != event.task) continue;
        lost += one.amount;
        if (!one.to_others.is_zero()) broken.push_back(which + " is broken, and somebody is paid for it");
    }
    if (lost != deposit)
        broken.push_back(which +
                         " is broken, and cost its solver another amount than the deposit: " + lost.to_decimal());
}

void ReservationChecker::compare(const ledger::Block& block, const ledger::StateView& view, const Due& due,
                                 std::vector<std::string>& broken) {
    for (const auto& [party, before] : held_) {
        const auto owed = due.to.find(party);
        const U256 wanted = owed == due.to.end() ? before.coins : before.coins + owed->second;
        const U256 has = view.account(party).balance + spent_by(block, party);
        const bool exact =
            contracts::views::open_bids(view, party) == before.bids && only_reservations_move(block, party);
        if (owed != due.to.end()) ++(exact ? compared_.exactly : compared_.at_least);
        if (has < wanted && (exact || owed != due.to.end()))
            broken.push_back("a party did not get the deposit of a reservation that ended, or lost coins: it has " +
                             has.to_decimal() + " of " + wanted.to_decimal());
        if (has > wanted && exact)
            broken.push_back("a party has more coins than its reservations and transactions explain: " +
                             has.to_decimal() + " instead of " + wanted.to_decimal());
    }
    const U256 burned = ledger::burned(view), wanted = burned_ + burned_by(block) + due.burned;
    if (burned != wanted)
        broken.push_back("a block burned another amount than its events say: " + burned.to_decimal() + " instead of " +
                         wanted.to_decimal());
    burned_ = burned;
    for (const auto& [id, offer] : offers_)
        for (const ledger::Address& party : {offer.terms.requester, offer.terms.solver})
            held_[party] = {view.account(party).balance, contracts::views::open_bids(view, party)};
}

std::vector<std::string> ReservationChecker::after_block(const ledger::Block& block, const ledger::StateView& view) {
    std::vector<std::string> broken;
    std::vector<contracts::Slashed> slashed;
    std::vector<contracts::ReservationChanged> changed;
    const auto see = [&](const std::vector<ledger::Log>& logs) {
        for (const ledger::Log& log : logs) {
            if (const auto offered = contracts::decode_event<contracts::TimeReserved>(log))
                offers_.insert({offered->reservation, {*offered}});
            if (const auto lost = contracts::decode_event<contracts::Slashed>(log)) slashed.push_back(*lost);
            if (const auto event = contracts::decode_event<contracts::ReservationChanged>(log))
                changed.push_back(*event);
        }
    };
    see(block.system_logs);
    for (const ledger::Receipt& receipt : block.receipts) see(receipt.logs);
    Due due;
    for (const contracts::ReservationChanged& event : changed) take(event, block.header.height, slashed, due, broken);
    compare(block, view, due, broken);
    return broken;
}

ledger::Address ReservationChecker::requester_of(std::uint64_t task) const {
    const auto found = of_task_.find(task);
    return found == of_task_.end() ? ledger::Address{} : offers_.at(found->second).terms.requester;
}

}  // namespace retrace::sim
