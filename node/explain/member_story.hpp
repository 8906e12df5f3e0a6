// SPDX-License-Identifier: MIT
// What each member of a group did in each round, and what came of it.
#pragma once

#include <string_view>
#include <vector>

#include "ledger/state/view.hpp"
#include "market/groups.hpp"

namespace retrace::node {

/// What is known of a member in a round. Those above `recorded` are of the open round.
enum class RoundOutcome : std::uint8_t {
    training = 1,        ///< Its message is waited for.
    late = 2,            ///< The others' messages are in, so the round ends without it after the grace, or has ended.
    sent = 3,            ///< Its message is in, and not recorded yet.
    recorded = 4,        ///< Its message counts.
    not_listed = 5,      ///< Fewer than 2/3 of the others had its message.
    too_few_listed = 6,  ///< It sent a message, and the round closed without any.
    absent = 7,          ///< It sent none.
    undone = 9,          ///< A rollback has undone its message, or has ended the round before it sent one.
    trained_on = 8,      ///< It sent none, and trained for a message that it sent in a later round.
};
constexpr RoundOutcome last_of(RoundOutcome) { return RoundOutcome::undone; }
std::string_view slug(RoundOutcome outcome) noexcept;

struct MemberRound {
    std::uint32_t round = 0;
    RoundOutcome outcome{};
    std::uint32_t steps = 0;  ///< Inner steps that it trained; 0: it sent nothing.
    std::uint32_t age = 0;    ///< Rounds before this one at which they began.
    bool merged = false;      ///< The message is one that it merged for its region.
    bool drawn = false;       ///< Its segment is or was audited.
    bool final = false;       ///< Nothing can take its segment back any more.
    ledger::U256 paid;
    /// Runs that had not its message; of a `not_listed` one, if the caller adds them: the state lacks their order.
    std::vector<std::uint32_t> not_listed_by;
};

struct MemberStory {
    market::Run run;
    market::Member member;
    market::Consent consent;          ///< To auditors of its own data, in a private group.
    std::vector<MemberRound> rounds;  ///< From its first one to the open one, or to its last one if it sends no more.
};

/// Returns the members by ascending run; none if the task is no group.
std::vector<MemberStory> member_stories(const ledger::StateView& view, std::uint64_t task);

}  // namespace retrace::node
