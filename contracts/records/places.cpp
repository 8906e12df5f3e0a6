// SPDX-License-Identifier: MIT
#include "contracts/records/places.hpp"

#include <algorithm>

#include "contracts/records/group_views.hpp"
#include "contracts/records/views.hpp"

namespace retrace::contracts {
namespace {

constexpr std::uint64_t kPages = market::kOpenTasksMax / market::kRecordListMax;

std::vector<std::uint64_t> page_of(const ledger::StateView& view, std::uint64_t page) {
    return list<std::uint64_t>(view, keys::open_tasks_page(page));
}

}  // namespace

std::uint64_t views::open_tasks(const ledger::StateView& view) {
    std::uint64_t count = 0;
    for (std::uint64_t page = 0; page < kPages; ++page) count += page_of(view, page).size();
    return count;
}

std::vector<std::uint64_t> views::active_tasks(const ledger::StateView& view) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t page = 0; page < kPages; ++page) {
        const auto ids = page_of(view, page);
        out.insert(out.end(), ids.begin(), ids.end());
    }
    std::sort(out.begin(), out.end());
    return out;
}

std::optional<market::Place> views::place(const ledger::StateView& view, std::uint64_t task) {
    return load<market::Place>(view, keys::place(task));
}

bool views::is_rent_over(const ledger::StateView& view, const market::Task& task, std::uint64_t height) {
    const auto held = place(view, task.id);
    return held && U256(height - task.posted_height) > market::paid_blocks(*held);
}

std::uint64_t views::last_auction_begins(const market::Params& params, const market::Task& task,
                                         std::uint64_t pause_blocks, std::uint64_t height, std::uint64_t more) {
    const bool open = task.state == market::TaskState::bidding;
    const std::uint64_t each = params.bid_blocks + params.reveal_blocks + pause_blocks;
    if (!open) return height + more * each;
    return more == 0 ? task.reveal_end : task.reveal_end + pause_blocks + (more - 1) * each;
}

U256 views::missing_rent(const ledger::StateView& view, const market::Task& task, std::uint64_t height) {
    const auto held = place(view, task.id);
    if (!held || height < task.posted_height) return {};
    const U256 due = held->rent * U256(height - task.posted_height);  // Below 2^208: a rent is below 2^144.
    return due > held->deposit ? due - held->deposit : U256();
}

std::optional<U256> views::bid_place_fee(const ledger::StateView& view, const market::Params& params,
                                         const market::Task& task, std::size_t more) {
    const std::size_t most = is_group(view, task.id) ? market::kGroupBiddersMax : market::kBiddersMax;
    const std::size_t taken = task.bidders.size();
    if (taken >= most) return std::nullopt;
    return market::bid_place_fee(params, std::min(taken + more, most - 1), most);
}

std::optional<U256> views::rent_deposit(const ledger::StateView& view, const market::Params& params,
                                        const market::TaskSpec& spec, const market::GroupSpec* group,
                                        std::uint64_t more) {
    const std::uint64_t taken = open_tasks(view);
    if (taken >= market::kOpenTasksMax) return std::nullopt;
    const U256 rent = market::task_rent(params, std::min(taken + more, market::kOpenTasksMax - 1));
    return rent * U256(market::rented_blocks(params, spec, group));
}

void add_open_task(ledger::State& state, std::uint64_t task) {
    for (std::uint64_t page = 0; page < kPages; ++page) {
        if (page_of(state, page).size() >= market::kRecordListMax) continue;
        return add_to_list(state, keys::open_tasks_page(page), task);
    }
    ensure(false, "a task is admitted only where a place is free");
}

void remove_open_task(ledger::State& state, std::uint64_t task) {
    for (std::uint64_t page = 0; page < kPages; ++page) {
        const auto ids = page_of(state, page);
        if (std::binary_search(ids.begin(), ids.end(), task))
            return remove_from_list(state, keys::open_tasks_page(page), task);
    }
    ensure(false, "an open task is listed");
}

}  // namespace retrace::contracts
