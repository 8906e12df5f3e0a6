// SPDX-License-Identifier: MIT
#include "market/places.hpp"

#include <algorithm>

#include "merkle/base/ensure.hpp"

namespace retrace::market {
namespace {

constexpr std::uint64_t kSteps = 32;  // Of a list's capacity; the price doubles with each one in the second half.
/// A rent is a millionth of the deposit of a bid, times the multiplier.
constexpr std::uint64_t kRentShare = 1'000'000;
/// Cancelling burns a thousandth of the stake that bids lock.
constexpr std::uint64_t kLockShare = 1'000;

}  // namespace

std::uint64_t place_multiplier(std::uint64_t taken, std::uint64_t capacity) {
    ensure(taken < capacity && capacity % kSteps == 0, "a place is free, and the list divides into steps");
    const std::uint64_t half = capacity / 2;
    return taken < half ? 0 : std::uint64_t{1} << (taken - half) / (capacity / kSteps);
}

U256 bid_place_fee(const Params& params, std::uint64_t taken, std::uint64_t capacity) {
    return params.bid_deposit * U256(place_multiplier(taken, capacity));
}

U256 task_rent(const Params& params, std::uint64_t taken) {
    const U256 least = std::max(U256(1), params.bid_deposit / U256(kRentShare));
    return least * U256(place_multiplier(taken, kOpenTasksMax));
}

std::uint64_t rented_blocks(const Params& params, const TaskSpec& spec, const GroupSpec* group) {
    const std::uint64_t pauses = spec.auctions == 0 ? 0 : (spec.auctions - std::uint64_t{1}) * spec.pause_blocks;
    const std::uint64_t auctions =
        params.rounds * (params.bid_blocks + params.reveal_blocks + params.accept_blocks) + pauses;
    const std::uint64_t first_states = std::max(params.checkpoint_blocks, spec.checkpoint_blocks);
    // With regions the longest time is that of two rounds, one of training and one of merged messages.
    const std::uint64_t rounds = group != nullptr && group->regions != 0 ? spec.steps / 2 + 1 : spec.steps;
    const std::uint64_t work = group == nullptr ? spec.finish_blocks : first_states + rounds * longest_round(*group);
    return auctions + work + params.deliver_blocks + params.unbond_blocks;
}

U256 cancel_fee(const U256& locked) { return (locked + U256(kLockShare - 1)) / U256(kLockShare); }

U256 rent_due(const Place& place, std::uint64_t blocks) {
    // The product cannot overflow: a rent is below 2^144 (SPEC 1.1).
    return std::min(place.deposit, place.rent * U256(blocks));
}

U256 paid_blocks(const Place& place) { return place.deposit / place.rent; }

}  // namespace retrace::market
