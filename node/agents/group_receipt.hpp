// SPDX-License-Identifier: MIT
// What the ledger says of the model of a group: whose segments it rests on, and which of them were checked.
#pragma once

#include <string>
#include <vector>

#include "ledger/state/view.hpp"
#include "market/rollbacks.hpp"

namespace retrace::node {

/// The segments of a member that are final. `recorded`: messages of it that are in records, of final segments or not.
struct MemberSegments {
    market::Run run;
    std::uint64_t recorded = 0;
    std::uint64_t verified = 0;   ///< With a matching audit.
    std::uint64_t not_drawn = 0;  ///< No audit was due.
    std::uint64_t unaudited = 0;  ///< Drawn, and nobody audited them.
    /// Of a private group, and in none of the counts above: segments that train on the member's own data, with a match of
    /// auditors to whom it gave them, who may be its own; and those that nobody checked.
    std::uint64_t consented = 0, unverified = 0;
    /// The terms promise an audit that there was not: of a segment that was drawn, of its first one, or of the one that
    /// takes in the last records. Nullopt: there is none.
    std::optional<std::uint64_t> missed;
};

/// A message that a record has, that no rollback has undone, and that its member did not answer for to the end: the record stands (SPEC 21.10 of
/// contracts), and the message is part of the model with the share weight / total of its round.
struct UnansweredMessage {
    std::uint32_t run = 0;
    std::uint32_t round = 0;
    std::uint64_t segment = 0;
    std::uint32_t steps = 0, weight = 0, total = 0;
    bool convicted = false;  ///< A referee found this segment or one before it wrong; else a deadline was missed.
};

struct GroupFacts {
    bool private_data = false;  ///< Members train on data of their own.
    bool masked = false;        ///< Messages were sent under masks,
    std::uint64_t shown =
        0;  ///< and those over so many recorded ones were shown to everybody, because audits were drawn.
    std::uint32_t rounds = 0;
    std::uint64_t empty_rounds = 0;  ///< Of which no record has a message.
    std::vector<MemberSegments> members;
    std::vector<UnansweredMessage> unanswered;  ///< By ascending run and round.
    std::vector<market::Rollback> rollbacks;    ///< What they undid counts in none of the above.

    std::uint64_t recorded() const;
    std::uint64_t verified() const;
    std::uint64_t not_drawn() const;
    std::uint64_t unaudited() const;
    std::uint64_t consented() const;
    std::uint64_t unverified() const;
};

/// Reads every round, member and segment. nullopt: the task is no group, or the records are incomplete.
std::optional<GroupFacts> group_facts(const ledger::StateView& view, std::uint64_t task);

/// The member that delivered the model: the first that has taken in all records and whose states are final. `solver`:
/// "0x…", the one that made the model; empty: any.
std::optional<market::Run> delivered_member(const ledger::StateView& view, std::uint64_t task,
                                            const std::string& solver);

}  // namespace retrace::node
