// SPDX-License-Identifier: MIT
// Free seats of groups: which ones pay, and the call that takes one.
#include <spdlog/spdlog.h>

#include "node/agents/remote_state.hpp"
#include "node/agents/solver_service.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {

Quote SolverService::quote_seat(const RemoteState& state, const market::Params& params, const FreeSeat& seat,
                                const market::TaskSpec& spec) {
    const auto base_fee = process_->client().base_fee();
    if (!base_fee) return {std::nullopt, "the node does not say what calls cost"};
    Quote out;
    state.read([&] { out = bidding_.seat(state, params, *base_fee, seat, spec); });
    if (state.failure()) return {std::nullopt, state.failure()->message};
    return out;
}

void SolverService::offer_seats(const RemoteState& state, const market::Params& params,
                                const std::vector<FreeSeat>& seats, solver::SolverView& view) {
    constexpr std::size_t kSeatsMost = 4;  // Each is prepared, which takes room on the disk.
    seats_.clear();
    std::erase_if(joined_, [&](const auto& item) { return view.height > item.second + kResendBlocks; });
    for (const FreeSeat& seat : seats) {
        const auto spec = process_->immutable().spec(state, seat.task);
        if (!spec || view.seats.size() == kSeatsMost || joined_.contains(seat.task)) continue;
        const Quote quote = quote_seat(state, params, seat, *spec);
        if (!quote.price) {
            bidding_.explain(seat.task, quote);
            continue;
        }
        solver::SeatView seen;
        state.read([&] {
            seen = seat_view(state, seat, *spec, params, process_->address(), process_->immutable());
            (void)may_train(state, seen.terms);  // A seat that its data are not for has no price.
        });
        if (state.failure()) return;
        if (!fits_data(state, view.height, seat)) continue;  // Before its stake is locked.
        seats_[seat.task] = seat;
        view.seats.push_back(std::move(seen));
    }
}

Result<Hash32> SolverService::send_join(const solver::SolverView& view, const solver::JoinGroup& move) {
    const RemoteState state = process_->chain().state(view.height);
    const auto params = process_->immutable().params(state);
    const auto spec = process_->immutable().spec(state, move.task);
    const auto seat = seats_.find(move.task);
    const auto base_fee = process_->client().base_fee();
    if (!params || !spec || seat == seats_.end() || !base_fee) return Hash32{};
    const Quote quote = quote_seat(state, *params, seat->second, *spec);
    if (!quote.price) return Hash32{};  // Another seat has taken the stake or the time.
    state.read([&] { bidding_.count_join(state, *params, *base_fee, seat->second, *spec, view.height); });
    if (state.failure()) return Hash32{};
    joined_[move.task] = view.height;
    spdlog::info("event=join task={} base={} anchor={} price={}", move.task, seat->second.anchor.base, move.anchor,
                 format_coins(*quote.price));
    return process_->submitter().send("join task " + std::to_string(move.task),
                                      contracts::JoinTask{move.task, move.anchor, move.index},
                                      market::join_fee(*params, *spec, move.index));
}

}  // namespace retrace::node
