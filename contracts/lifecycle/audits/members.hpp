// SPDX-License-Identifier: MIT
// Which members of the chain may be drawn as auditors now. SPEC 14.2.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

enum class Readiness : std::uint8_t {
    none,  ///< May not be drawn: it retires, or joined after the beacon could be known.
    busy,  ///< Its stake or its machine time is bound by other audits and disputes.
    free,
};

struct Member {
    Address party;
    U256 weight;
    Readiness readiness{};
};

using MemberVisitor = std::function<bool(const Member&)>;

/// The members, kept while a block begins. Many draws follow one another then, and each of them would read five records
/// of each member. It belongs to one state, to which only `isolate` may write while it is in use.
class MemberCache {
public:
    /// As visit_members. `fx` has that state or one overlay on it; what the overlay has changed is read anew and not kept.
    bool visit(const Effects& fx, const MemberVisitor& visitor);
    /// Forgets what `diff` changes, which has been merged into the state.
    void forget(const ledger::StateDiff& diff);

private:
    struct Entry {
        Member member;
        bool known = false;
    };
    /// Indices of the entries that a record in `diff` belongs to.
    std::vector<std::size_t> changed_by(const ledger::StateDiff& diff) const;

    bool listed_ = false;
    std::vector<Entry> entries_;                                     // In the order of the list of members.
    std::map<ledger::SlotKey, std::size_t, ledger::SlotLess> keys_;  // Of each record that an entry depends on.
};

/// Visits the members in ascending order until the visitor returns true; returns whether one did. Takes them from the
/// block's cache where there is one.
bool visit_members(const Effects& fx, const MemberVisitor& visitor);

}  // namespace retrace::contracts
