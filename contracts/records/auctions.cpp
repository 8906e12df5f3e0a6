// SPDX-License-Identifier: MIT
#include "contracts/records/auctions.hpp"

#include <algorithm>

#include "contracts/records/views.hpp"

namespace retrace::contracts {

std::optional<market::Auctions> views::auctions(const ledger::StateView& view, std::uint64_t task) {
    return load<market::Auctions>(view, keys::auctions(task));
}

market::Auctions views::auctions_or_one(const ledger::StateView& view, std::uint64_t task,
                                        const market::TaskSpec& spec) {
    return auctions(view, task).value_or(market::Auctions{spec.price_ceiling, {}, 0, 0});
}

std::uint64_t views::bids_begin(const market::Params& params, const market::Task& task) {
    return task.bid_end - std::min(task.bid_end, params.bid_blocks);
}

U256 views::run_ceiling(const ledger::StateView& view, std::uint64_t task, std::uint32_t run) {
    const auto noted = load<Amount>(view, keys::run_ceiling(task, run));
    return noted ? noted->value : must_load<market::TaskSpec>(view, keys::spec(task)).price_ceiling;
}

std::optional<market::NextAuction> views::next_auction(const ledger::StateView& view, std::uint64_t id) {
    const auto task = views::task(view, id);
    const auto spec = views::spec(view, id);
    if (!task || !spec || market::is_final(task->state)) return std::nullopt;
    const market::Auctions known = auctions_or_one(view, id, *spec);
    const bool may_fail = task->state == market::TaskState::bidding && known.left != 0;
    return market::NextAuction{market::ceiling_after(*spec, known, known.failed + (may_fail ? 1 : 0)), known.left};
}

}  // namespace retrace::contracts
