// SPDX-License-Identifier: MIT
// What rules write through: state, events, coins and the scheduler.
#pragma once

#include <vector>

#include "contracts/calls/encode.hpp"
#include "contracts/calls/verdict.hpp"
#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"

namespace retrace::contracts {

using ledger::StateView;
using market::Params;

/// What a rule may know of its transaction.
struct TxContext {
    Address sender;
    U256 value;                  ///< Sent with the call; the contract has it when `apply` runs.
    std::uint64_t height = 0;
    const Params& params;
};

struct Effects {
    ledger::State& state;
    const Params& params;
    std::uint64_t height = 0;
    std::vector<ledger::Log> logs;

    template <class Event>
    void emit(const Event& event) {
        logs.push_back(to_log(event));
    }
};

// Coins. Each contract's `held` record equals its balance; every move changes both (SPEC 8.1).
void take(Effects& fx, Contract to, const Address& from, const U256& amount);   ///< The balance was checked.
void pay(Effects& fx, Contract from, const Address& to, const U256& amount);
void burn_held(Effects& fx, Contract from, const U256& amount);

/// What happens by itself at a height.
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
    wake = 12,                ///< task, -, first state
    challenge = 13,           ///< challenge
    release = 14,             ///< task
    late_replica = 15,        ///< task, run, its own height
    unaudited = 16,           ///< task, run, its own height
};
constexpr ScheduledKind last_of(ScheduledKind) { return ScheduledKind::unaudited; }

struct ScheduledItem {
    ScheduledKind kind{};
    std::uint64_t id = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    static auto tie(auto& d) { return std::tie(d.kind, d.id, d.run, d.index); }
};
/// Items that one block handles; what is more waits for the next one (SPEC 9.2). An item is a reminder: whoever handles
/// it looks whether it still applies.
inline constexpr std::size_t kDueMax = 256;
/// Items that one record holds.
inline constexpr std::size_t kDuePage = 32;
/// Schedules `item` at `height`, which is in the future. Costs the same however much is due there.
void schedule(Effects& fx, std::uint64_t height, const ScheduledItem& item);
/// The same for what may be asked for very often: of each kind, id and run one reminder is enough, at the earliest
/// height that was asked for. Whoever handles it asks again for what is later (SPEC 9.3). Payments of all runs of a
/// task have one.
void remind(Effects& fx, std::uint64_t height, ScheduledKind kind, std::uint64_t id, std::uint32_t run);
/// Whether a reminder that came is the one that counts; it is used up. An earlier one may have replaced it.
bool use_reminder(Effects& fx, const ScheduledItem& item);

}  // namespace retrace::contracts
