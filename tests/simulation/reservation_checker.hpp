// SPDX-License-Identifier: MIT
// What a reservation costs and brings each side, from its events and the balances around them. SPEC 5.5, contracts 12.11.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "contracts/calls/events.hpp"
#include "ledger/block/block.hpp"
#include "ledger/state/view.hpp"
#include "market/reservations.hpp"

namespace retrace::sim {

class ReservationChecker {
public:
    /// Returns a sentence for each rule that this block broke. Blocks come in order, from the first one on.
    std::vector<std::string> after_block(const ledger::Block& block, const ledger::StateView& view);
    /// The requester of the reservation by which the task began; zero: none.
    ledger::Address requester_of(std::uint64_t task) const;
    /// How the coins of the parties of reservations that ended were compared, a party and block at a time.
    struct Compared {
        std::uint64_t exactly = 0;   ///< Nothing else could move them.
        std::uint64_t at_least = 0;  ///< Something else could have been paid too.
    };
    const Compared& compared() const noexcept { return compared_; }

private:
    struct Offer {
        contracts::TimeReserved terms;
        market::ReservationState state = market::ReservationState::offered;
    };
    /// What the ends of reservations in a block bring.
    struct Due {
        std::map<ledger::Address, ledger::U256> to;  ///< Coins that a party has to have more, beside what it spends.
        ledger::U256 burned;                         ///< Deposits.
    };
    /// Of a party after the last block.
    struct Held {
        ledger::U256 coins;
        std::size_t bids = 0;  ///< Whose deposits return.
    };
    void take(const contracts::ReservationChanged& event, std::uint64_t height, const std::vector<contracts::Slashed>&,
              Due& due, std::vector<std::string>& broken);
    void compare(const ledger::Block& block, const ledger::StateView& view, const Due& due,
                 std::vector<std::string>& broken);

    std::map<std::uint64_t, Offer> offers_;
    std::map<std::uint64_t, std::uint64_t> of_task_;  ///< Task → reservation.
    std::map<ledger::Address, Held> held_;            ///< Of the parties of offers.
    ledger::U256 burned_;                             ///< After the last block.
    Compared compared_;
};

}  // namespace retrace::sim
