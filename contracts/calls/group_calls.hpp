// SPDX-License-Identifier: MIT
// Methods of group tasks, as calls.hpp has those of the others. SPEC 21.
#pragma once

#include "contracts/calls/addresses.hpp"
#include "market/groups.hpp"
#include "market/masks/records.hpp"

namespace retrace::contracts {

using ledger::Address;
using ledger::U256;
using market::TaskSpec;
using Names = std::vector<std::string_view>;

/// Posts a task of a group. msg.value is the escrow, as for postTask.
struct PostGroup {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "postGroup";
    static constexpr bool kPayable = true;
    static Names names() { return {"spec", "group"}; }
    static auto tie(auto& c) { return std::tie(c.spec, c.group); }
    TaskSpec spec;
    market::GroupSpec group;
};
/// Commits to the member's state `index`, the end of a segment that takes in the records up to `base` and has `steps`
/// inner steps. With inner steps it sends a message in the open round, which is `base` then; `message` has the roots of
/// the public tensors; in a group with masks `masks` has the root of the table of those over it. Without inner steps
/// both are empty. The first state is committed with commitCheckpoint.
struct CommitRound {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "commitRound";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "index", "base", "steps", "commitment", "message", "masks"}; }
    static auto tie(auto& c) {
        return std::tie(c.task, c.run, c.index, c.base, c.steps, c.commitment, c.message, c.masks);
    }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::uint32_t base = 0, steps = 0;
    Hash32 commitment;
    std::vector<Hash32> message;
    Hash32 masks{};
};
/// Commits to the messages of the open round that the member has whole: market::holding_commitment.
struct CommitHoldings {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "commitHoldings";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "round", "commitment"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.round, c.commitment); }
    std::uint64_t task = 0;
    std::uint32_t run = 0, round = 0;
    Hash32 commitment;
};
/// Reveals them: bit i (of byte i / 8, least significant first) stands for the i-th run of Group::committed.
struct RevealHoldings {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "revealHoldings";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "round", "bitmap", "salt"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.round, c.bitmap, c.salt); }
    std::uint64_t task = 0;
    std::uint32_t run = 0, round = 0;
    Bytes bitmap;
    Hash32 salt;
};
/// Opens a member's state, for whatever waits for it: openRoots, openSegment and revealSegment refuse group tasks.
/// `leaves` is an encoded verifier::PublicLeaves, which shows the roots of the shared and public tensors in it.
struct OpenMember {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "openMember";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "index", "salt", "root", "leaves"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.index, c.salt, c.root, c.leaves); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Hash32 salt, root;
    Bytes leaves;
};
/// Shows the masks over the message of a segment that was drawn for an audit: an encoded market::MaskOpening.
struct ShowMasks {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "showMasks";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "segment", "masks"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.segment, c.masks); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Bytes masks;
};
/// Posts the member's one-time keys for the masks of the open round: an encoded market::MaskKeys.
struct MaskKeys {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "maskKeys";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "round", "keys"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.round, c.keys); }
    std::uint64_t task = 0;
    std::uint32_t run = 0, round = 0;
    Bytes keys;
};
/// Deals shares of the secrets of both masks to all that posted keys: an encoded market::MaskShares.
struct MaskShares {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "maskShares";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "round", "shares"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.round, c.shares); }
    std::uint64_t task = 0;
    std::uint32_t run = 0, round = 0;
    Bytes shares;
};
/// Shows that what `dealer` sealed for the member is no share, before messages are sent: an encoded
/// market::ShareComplaint.
struct ComplainOfShare {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "complainOfShare";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "round", "dealer", "complaint"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.round, c.dealer, c.complaint); }
    std::uint64_t task = 0;
    std::uint32_t run = 0, round = 0, dealer = 0;
    Bytes complaint;
};
/// Reveals the member's share of each that dealt, or complaints: encoded market::RevealedShares.
struct Unmask {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "unmask";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "round", "shares"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.round, c.shares); }
    std::uint64_t task = 0;
    std::uint32_t run = 0, round = 0;
    Bytes shares;
};
/// The requester of a private group lets these accounts bid and join: ascending, at most market::kNamedInCallMax.
struct AdmitMembers {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "admitMembers";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "accounts"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.accounts); }
    std::uint64_t task = 0;
    std::vector<Address> accounts;
};
/// Fixes the roots of the data sets on which the member of a private group trains, before its first state.
struct CommitData {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "commitData";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "data"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.data); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::vector<Hash32> data;
};
/// A member of a private group names accounts, ascending, that may audit its segments with inner steps.
struct GiveConsent {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "consent";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "accounts"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.accounts); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::vector<Address> accounts;
};
/// An account that a member named states that it has the member's data, and from then on is drawn.
struct AcceptConsent {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "acceptConsent";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
};
/// Ends a consent: the member names the account no more, or the account no longer has the data or wants to be drawn.
struct WithdrawConsent {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "withdrawConsent";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "account"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.account); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Address account;
};
/// Takes a free seat. The member begins at the base of state `index` of run `anchor`, which is finalised, with the
/// shared tensors of that state. Locks the stake floor. msg.value is market::join_fee.
struct JoinTask {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "joinTask";
    static constexpr bool kPayable = true;
    static Names names() { return {"task", "anchor", "index"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.anchor, c.index); }
    std::uint64_t task = 0;
    std::uint32_t anchor = 0;
    std::uint64_t index = 0;
};
/// The member commits nothing more; it ends, and its lock returns, when all of its segments are finalised.
struct LeaveTask {
    static constexpr Contract kContract = Contract::groups;
    static constexpr std::string_view kName = "leaveTask";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
};

}  // namespace retrace::contracts
