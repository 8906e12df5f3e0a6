// SPDX-License-Identifier: MIT
// Events of group tasks. SPEC 21.
#pragma once

#include "contracts/calls/calls.hpp"

namespace retrace::contracts {

/// A phase of the open round begins, or (market::GroupPhase::over) all rounds are closed.
struct RoundPhaseChanged {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "RoundPhaseChanged";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "round", "phase", "deadline"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.round, e.phase, e.deadline); }
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    std::uint8_t phase = 0;  ///< market::GroupPhase
    std::uint64_t deadline = 0;
};
/// A member committed to the end of a segment, with a message if `steps` is not 0.
struct SegmentCommitted {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "SegmentCommitted";
    static constexpr std::size_t kIndexed = 3;
    static Names names() { return {"task", "run", "base", "segment", "steps"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.base, e.segment, e.steps); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint32_t base = 0;
    std::uint64_t segment = 0;
    std::uint32_t steps = 0;
};
/// The masks of a round take another step (market::MaskStep); `members` are those that did what the last one asked for.
struct MasksChanged {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "MasksChanged";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "round", "step", "members", "deadline"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.round, e.step, e.members, e.deadline); }
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    std::uint8_t step = 0;
    std::uint32_t members = 0;
    std::uint64_t deadline = 0;  ///< Of keys and shares; else 0.
};
struct RoundClosed {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "RoundClosed";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "round", "committed", "recorded", "revealed", "total"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.round, e.committed, e.recorded, e.revealed, e.total); }
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    std::uint32_t committed = 0, recorded = 0, revealed = 0;
    std::uint32_t total = 0;  ///< Sum of the recorded messages' weights.
};
struct MemberJoined {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "MemberJoined";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "solver", "run", "base"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.solver, e.run, e.base); }
    std::uint64_t task = 0;
    Address solver;
    std::uint32_t run = 0;
    std::uint32_t base = 0;  ///< Base of its first state.
};
/// The member commits nothing more, and ends when its segments are finalised.
struct MemberLeaves {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "MemberLeaves";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "run", "round", "absent"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.round, e.absent); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint32_t round = 0;
    bool absent = false;  ///< It was absent for too long, or has not taken in the last rounds in time.
};
/// A run was lost whose messages from round `first` on were recorded and not final: that record is read without its entry
/// from now on, and the records of the rounds after it up to `last` as empty.
struct GroupRolledBack {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "GroupRolledBack";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "run", "first", "last"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.first, e.last); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint32_t first = 0, last = 0;
};
/// The requester got from the lock of a run what the segments cost that its end undoes.
struct UndoneRepaid {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "UndoneRepaid";
    static constexpr std::size_t kIndexed = 3;
    static Names names() { return {"task", "run", "requester", "amount"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.requester, e.amount); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Address requester;
    U256 amount;
};
/// Accounts that may take part in a private group.
struct MembersAdmitted {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "MembersAdmitted";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"task", "accounts"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.accounts); }
    std::uint64_t task = 0;
    std::vector<Address> accounts;
};
/// The data sets of a member of a private group are fixed.
struct DataCommitted {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "DataCommitted";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "run", "data"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.data); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::vector<Hash32> data;
};
/// A member of a private group consents to auditors.
struct ConsentGiven {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "ConsentGiven";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "run", "accounts"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.accounts); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::vector<Address> accounts;
};
/// One of them has the member's data.
struct ConsentAccepted {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "ConsentAccepted";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "run", "auditor"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.auditor); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Address auditor;
};
/// By the member, or by the account itself.
struct ConsentWithdrawn {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "ConsentWithdrawn";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "run", "auditor", "byMember"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.auditor, e.by_member); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Address auditor;
    bool by_member = false;
};

}  // namespace retrace::contracts
