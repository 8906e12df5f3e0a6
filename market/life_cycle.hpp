// SPDX-License-Identifier: MIT
// The states of a task and of a run as tables. SPEC 3. A transition that is not listed is illegal.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace retrace::market {

enum class TaskState : std::uint8_t {
    posted = 1,
    bidding = 2,
    assigned = 3,
    running = 4,
    delivering = 5,
    settled = 6,
    cancelled = 7,
    expired = 8,
    forfeited = 9,
    frozen = 10,    ///< A rule about it broke an invariant: it cannot change until it is released.
    released = 11,  ///< It was frozen; its held and locked coins were returned.
};
constexpr TaskState last_of(TaskState) { return TaskState::released; }
std::string_view slug(TaskState state) noexcept;

enum class TaskEvent : std::uint8_t {
    open_auction = 1,  ///< Bids are taken.
    cancel = 2,        ///< By the requester.
    win = 3,           ///< The auction found enough solvers.
    no_bid = 4,        ///< The auction found too few solvers.
    leave = 5,         ///< The winner declined or did not accept in time.
    accept = 6,        ///< The winner has program and data.
    forfeit = 7,       ///< The solver was convicted or silent.
    finish = 8,        ///< All segments are verified and paid.
    settle = 9,        ///< The requester has the model, or its time is over.
    freeze = 10,       ///< A broken invariant.
    release = 11,      ///< The time of a frozen task is over.
};
constexpr TaskEvent last_of(TaskEvent) { return TaskEvent::release; }
std::optional<TaskState> next(TaskState from, TaskEvent event) noexcept;
/// Whether no event leads out of `state`.
bool is_final(TaskState state) noexcept;

enum class RunState : std::uint8_t {
    assigned = 1,
    running = 2,
    delivering = 3,
    settled = 4,
    forfeited = 5,
    left = 6,
};
constexpr RunState last_of(RunState) { return RunState::left; }
std::string_view slug(RunState state) noexcept;
bool is_over(RunState state) noexcept;

}  // namespace retrace::market
