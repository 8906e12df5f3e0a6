// SPDX-License-Identifier: MIT
// The interface through which rules write state, events, coins and scheduled items.
#pragma once

#include <vector>

#include "contracts/calls/call_status.hpp"
#include "contracts/calls/encode.hpp"
#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"

namespace retrace::contracts {

using ledger::StateView;
using market::Params;

/// The part of its transaction that a rule may read.
struct TxContext {
    Address sender;
    U256 value;  ///< Coins sent with the call; the contract holds them when `apply` runs.
    std::uint64_t height = 0;
    const Params& params;
};

class MemberCache;

struct Effects {
    ledger::State& state;
    const Params& params;
    std::uint64_t height = 0;
    std::vector<ledger::Log> logs;
    MemberCache* members = nullptr;  ///< Only while a block begins.

    template <class Event>
    void emit(const Event& event) {
        logs.push_back(to_log(event));
    }
};

// Coins. Each contract's `held` record equals its balance; every move changes both (SPEC 8.1).
void take(Effects& fx, Contract to, const Address& from, const U256& amount);  ///< The caller has checked the balance.
void pay(Effects& fx, Contract from, const Address& to, const U256& amount);
void burn_held(Effects& fx, Contract from, const U256& amount);
/// One contract passes coins that a call brought to another, whose records account for them.
void hand_over(Effects& fx, Contract from, Contract to, const U256& amount);

/// Kinds of scheduled items. Each comment names the values of ScheduledItem's id, run and index.
enum class ScheduledKind : std::uint8_t {
    auction_close = 1,        ///< task, round
    accept_deadline = 2,      ///< task, run
    checkpoint_deadline = 3,  ///< task, run, its own height
    draw = 4,                 ///< task, run, segment
    audit_deadline = 5,       ///< audit, -, its own height
    redraw = 6,               ///< audit
    open_deadline = 7,        ///< task, run, state
    payment = 8,              ///< task, -, its own height
    dispute_clock = 9,        ///< dispute, -, its own height
    deliver_deadline = 10,    ///< task
    report_deadline = 11,     ///< report
    wake = 12,                ///< task, run of a group, first state
    challenge = 13,           ///< challenge
    release = 14,             ///< task
    late_replica = 15,        ///< task, run, its own height
    unaudited = 16,           ///< task, run, its own height
    group_clock = 17,         ///< task, -, its own height
    reservation = 18,         ///< reservation
};
constexpr ScheduledKind last_of(ScheduledKind) { return ScheduledKind::reservation; }

struct ScheduledItem {
    ScheduledKind kind{};
    std::uint64_t id = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    static auto tie(auto& d) { return std::tie(d.kind, d.id, d.run, d.index); }
};
/// Items that one block handles; the rest waits for the next block (SPEC 9.2). The handler of an item checks
/// whether it still applies.
inline constexpr std::size_t kDueMax = 256;
/// Items in one stored page.
inline constexpr std::size_t kDuePage = 32;
/// Schedules `item` at `height`, which lies in the future. The cost does not depend on the number of items there.
void schedule(Effects& fx, std::uint64_t height, const ScheduledItem& item);
/// As `schedule`, for items that may be requested very often: one item is kept for each kind, id and run, at the
/// earliest requested height. Its handler requests the later heights again (SPEC 9.3). Payments of all runs of a task
/// share one.
void schedule_single(Effects& fx, std::uint64_t height, ScheduledKind kind, std::uint64_t id, std::uint32_t run);
/// Whether an item that is due is the current one, which it then removes. An earlier one may have replaced it.
bool take_scheduled_item(Effects& fx, const ScheduledItem& item);

}  // namespace retrace::contracts
