// SPDX-License-Identifier: MIT
// The price of a place: of an open task among those of the chain, and of a bid among those of an auction. contracts 12.
#pragma once

#include "market/groups.hpp"
#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::market {

/// Tasks that may be open on a chain at once.
inline constexpr std::uint64_t kOpenTasksMax = 16'384;

/// 12.1: 0 while less than half of `capacity` places are taken; then 1, doubled with each 32nd of `capacity` that is
/// taken beyond the half, up to 2^15. Capacity is a multiple of 32, and `taken` is less than it (asserted).
std::uint64_t place_multiplier(std::uint64_t taken, std::uint64_t capacity);

/// 12.2: burned of a bid that finds `taken` bids in an auction of `capacity` places.
U256 bid_place_fee(const Params& params, std::uint64_t taken, std::uint64_t capacity);

/// 12.3: rent a block of a task that finds `taken` open ones.
U256 task_rent(const Params& params, std::uint64_t taken);
/// 12.4: blocks for which a task brings the rent at least; for a group `group` is given.
std::uint64_t rented_blocks(const Params& params, const TaskSpec& spec, const GroupSpec* group);

/// The place of an open task that pays rent.
struct Place {
    U256 rent;     ///< For each block; it does not change.
    U256 deposit;  ///< Brought for the rent: what is left at the end returns.
    bool operator==(const Place&) const = default;
    static auto tie(auto& p) { return std::tie(p.rent, p.deposit); }
    static Names names() { return {"rent", "deposit"}; }
};
/// 12.8: burned when a task is cancelled whose bids lock this much stake in all.
U256 cancel_fee(const U256& locked);

/// 12.5: rent of a place that was held for `blocks`, at most its deposit.
U256 rent_due(const Place& place, std::uint64_t blocks);
/// 12.6: blocks that the deposit pays for.
U256 paid_blocks(const Place& place);

}  // namespace retrace::market
