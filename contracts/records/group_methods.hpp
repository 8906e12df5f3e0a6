// SPDX-License-Identifier: MIT
// The methods that read the records of group tasks, as methods.hpp has those of the others. SPEC 6.3.
#pragma once

#include "contracts/calls/group_calls.hpp"
#include "market/rollbacks.hpp"

namespace retrace::contracts {

struct ReadGroupSpec {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "groupSpecOf";
    using Answer = market::GroupSpec;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
struct ReadGroup {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "groupOf";
    using Answer = market::Group;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
struct ReadRound {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "roundOf";
    using Answer = market::Round;
    static Names names() { return {"task", "round"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.round); }
    std::uint64_t task = 0;
    std::uint32_t round = 0;
};
struct ReadRoundMessage {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "messageOf";
    using Answer = market::RoundMessage;
    static Names names() { return {"task", "round", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.round, c.run); }
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    std::uint32_t run = 0;
};
struct ReadHolding {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "holdingOf";
    using Answer = market::Holding;
    static Names names() { return {"task", "round", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.round, c.run); }
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    std::uint32_t run = 0;
};
struct ReadRoundMasks {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "masksOf";
    using Answer = market::RoundMasks;
    static Names names() { return {"task", "round"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.round); }
    std::uint64_t task = 0;
    std::uint32_t round = 0;
};
struct ReadMemberMasks {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "memberMasksOf";
    using Answer = market::MemberMasks;
    static Names names() { return {"task", "round", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.round, c.run); }
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    std::uint32_t run = 0;
};
/// Accounts that may take part in a private group.
struct AdmittedAccounts {
    std::vector<Address> accounts;
    static auto tie(auto& a) { return std::tie(a.accounts); }
    static Names names() { return {"accounts"}; }
};
struct ReadAdmitted {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "admittedOf";
    using Answer = AdmittedAccounts;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
struct ReadConsent {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "consentOf";
    using Answer = market::Consent;
    static Names names() { return {"task", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
};
struct ReadMember {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "memberOf";
    using Answer = market::Member;
    static Names names() { return {"task", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
};
struct ReadMemberSegment {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "memberSegmentOf";
    using Answer = market::MemberSegment;
    static Names names() { return {"task", "run", "index"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.index); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
/// Of a group whose terms have rollbacks.
struct ReadRollbacks {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "rollbacksOf";
    using Answer = market::Rollbacks;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
/// Of a group with regions.
struct ReadDivision {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "divisionOf";
    using Answer = market::Division;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
/// Which rollbacks the segments of a run know of, and at which states they start.
struct ReadMemberAttempts {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "memberAttemptsOf";
    using Answer = market::MemberAttempts;
    static Names names() { return {"task", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
};

}  // namespace retrace::contracts
