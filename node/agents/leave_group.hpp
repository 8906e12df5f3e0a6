// SPDX-License-Identifier: MIT
// A member gives up its seat in a training in rounds.
#pragma once

#include <functional>

#include "node/agents/chain_reader.hpp"
#include "node/agents/submitter.hpp"

namespace retrace::node {

/// What a member does before it may leave.
enum class LeavePoint {
    now,     ///< It may leave: its message of the open round is in, or is not waited for any more.
    trains,  ///< It trains in the open round; what it has trained would be lost.
    leaves,  ///< It leaves already.
};

struct Leaving {
    LeavePoint point{};
    std::uint32_t run = 0;
    std::uint32_t round = 0;        ///< The round that is open.
    std::uint64_t deadline = 0;     ///< Height after which the phase of the round ends at the latest.
    std::uint64_t unfinalised = 0;  ///< Its segments that its stake still answers for.
};

/// Reads where the account's run of the task stands. Errors name the remedy: no group, no run, no first state, a group
/// that has not begun or whose rounds are over.
Result<Leaving> leaving_of(const ledger::StateView& view, std::uint64_t task, const ledger::Address& solver);

/// Sends leaveTask. Unless `at_once`, waits first until what the member trains in the open round is sent, or the round
/// no longer waits for it; `on_wait` is called once for each round that it waits in.
Result<Leaving> leave_group(Submitter& submitter, ChainReader& chain, std::uint64_t task, const ledger::Address& solver,
                            bool at_once, const std::function<void(const Leaving&)>& on_wait);

}  // namespace retrace::node
