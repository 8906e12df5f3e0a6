// SPDX-License-Identifier: MIT
#include "market/life_cycle.hpp"

namespace retrace::market {
namespace {

struct Row {
    TaskState from;
    TaskEvent event;
    TaskState to;
};

using enum TaskState;
constexpr Row kRows[] = {
    {posted, TaskEvent::open_auction, bidding},
    {posted, TaskEvent::win, assigned},  // To the solver that was reserved for it (contracts 12.11).
    {posted, TaskEvent::cancel, cancelled},
    {bidding, TaskEvent::cancel, cancelled},
    {bidding, TaskEvent::open_auction, bidding},  // Another auction, after one without winners (contracts 12.10).
    {bidding, TaskEvent::win, assigned},
    {bidding, TaskEvent::no_bid, expired},
    {assigned, TaskEvent::accept, running},
    {assigned, TaskEvent::leave, forfeited},
    {running, TaskEvent::forfeit, forfeited},
    {running, TaskEvent::finish, delivering},
    // Work in delivery is already paid; a solver that does not serve it loses its stake, but the task stays settled.
    {delivering, TaskEvent::settle, settled},
    {delivering, TaskEvent::forfeit, settled},
    {forfeited, TaskEvent::open_auction, bidding},
    {forfeited, TaskEvent::no_bid, expired},
    {posted, TaskEvent::freeze, frozen},
    {bidding, TaskEvent::freeze, frozen},
    {assigned, TaskEvent::freeze, frozen},
    {running, TaskEvent::freeze, frozen},
    {delivering, TaskEvent::freeze, frozen},
    {forfeited, TaskEvent::freeze, frozen},
    {frozen, TaskEvent::release, released},
};

}  // namespace

std::string_view slug(TaskState state) noexcept {
    switch (state) {
        case posted: return "posted";
        case bidding: return "bidding";
        case assigned: return "assigned";
        case running: return "running";
        case delivering: return "delivering";
        case settled: return "settled";
        case cancelled: return "cancelled";
        case expired: return "expired";
        case forfeited: return "forfeited";
        case frozen: return "frozen";
        case released: return "released";
    }
    return "invalid";
}

std::optional<TaskState> next(TaskState from, TaskEvent event) noexcept {
    for (const Row& row : kRows)
        if (row.from == from && row.event == event) return row.to;
    return std::nullopt;
}

bool is_final(TaskState state) noexcept {
    for (const Row& row : kRows)
        if (row.from == state) return false;
    return true;
}

std::string_view slug(RunState state) noexcept {
    switch (state) {
        case RunState::assigned: return "assigned";
        case RunState::running: return "running";
        case RunState::delivering: return "delivering";
        case RunState::settled: return "settled";
        case RunState::forfeited: return "forfeited";
        case RunState::left: return "left";
    }
    return "invalid";
}

bool is_over(RunState state) noexcept {
    return state == RunState::settled || state == RunState::forfeited || state == RunState::left;
}

}  // namespace retrace::market
