// SPDX-License-Identifier: MIT
// Events of the contracts. The first kIndexed fields are topics. SPEC 5.
#pragma once

#include <variant>

#include "contracts/calls/capability_events.hpp"
#include "contracts/calls/group_events.hpp"
#include "contracts/calls/offer_events.hpp"
#include "contracts/calls/validator_events.hpp"

namespace retrace::contracts {

struct StakeChanged {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "StakeChanged";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"party", "bonded", "locked", "unbonding"}; }
    static auto tie(auto& e) { return std::tie(e.party, e.bonded, e.locked, e.unbonding); }
    Address party;
    U256 bonded, locked, unbonding;
};
/// `amount` = `burned` + `toOthers`.
struct Slashed {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "Slashed";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"party", "task", "amount", "burned", "toOthers", "reason"}; }
    static auto tie(auto& e) { return std::tie(e.party, e.task, e.amount, e.burned, e.to_others, e.reason); }
    Address party;
    std::uint64_t task = 0;  ///< 0: slashed for the beacon or a capability challenge.
    U256 amount, burned, to_others;
    std::string reason;  ///< Slug of a SlashReason.
};
struct SolverRegistered {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "SolverRegistered";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"solver", "endpoint", "hardwareClass"}; }
    static auto tie(auto& e) { return std::tie(e.solver, e.endpoint, e.hardware_class); }
    Address solver;
    std::string endpoint;
    std::uint8_t hardware_class = 0;
};
struct VerifierRegistered {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "VerifierRegistered";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"verifier", "endpoint", "joinedEpoch"}; }
    static auto tie(auto& e) { return std::tie(e.verifier, e.endpoint, e.joined_epoch); }
    Address verifier;
    std::string endpoint;
    std::uint64_t joined_epoch = 0;
};
/// A member or candidate left: it retired, lost its place to a party with more stake, had too little stake left to
/// become a member, or (`dropped`) did not reveal.
struct VerifierLeft {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "VerifierLeft";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"verifier", "dropped"}; }
    static auto tie(auto& e) { return std::tie(e.verifier, e.dropped); }
    Address verifier;
    bool dropped = false;
};
struct BeaconMixed {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "BeaconMixed";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"epoch", "value", "reveals"}; }
    static auto tie(auto& e) { return std::tie(e.epoch, e.value, e.reveals); }
    std::uint64_t epoch = 0;
    Hash32 value;
    std::uint32_t reveals = 0;
};

struct TaskPosted {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "TaskPosted";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "requester", "name", "segments", "priceCeiling", "bidEnd", "revealEnd"}; }
    static auto tie(auto& e) {
        return std::tie(e.task, e.requester, e.name, e.segments, e.price_ceiling, e.bid_end, e.reveal_end);
    }
    std::uint64_t task = 0;
    Address requester;
    std::string name;
    std::uint64_t segments = 0;
    U256 price_ceiling;
    std::uint64_t bid_end = 0, reveal_end = 0;
};
struct TaskStateChanged {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "TaskStateChanged";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"task", "from", "to"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.from, e.to); }
    std::uint64_t task = 0;
    std::uint8_t from = 0, to = 0;  ///< market::TaskState
};
struct BidCommitted {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "BidCommitted";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "bidder", "round"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.bidder, e.round); }
    std::uint64_t task = 0;
    Address bidder;
    std::uint32_t round = 0;
};
struct BidRevealed {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "BidRevealed";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "bidder", "price", "finishHeight", "locked"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.bidder, e.price, e.finish_height, e.locked); }
    std::uint64_t task = 0;
    Address bidder;
    U256 price;
    std::uint64_t finish_height = 0;
    U256 locked;
};
/// A commitment was never revealed, and its deposit was burned.
struct BidForfeited {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "BidForfeited";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "bidder", "deposit"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.bidder, e.deposit); }
    std::uint64_t task = 0;
    Address bidder;
    U256 deposit;
};
struct TaskAssigned {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "TaskAssigned";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "solver", "run", "price", "firstState"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.solver, e.run, e.price, e.first_state); }
    std::uint64_t task = 0;
    Address solver;
    std::uint32_t run = 0;
    U256 price;
    std::uint64_t first_state = 0;
};
struct DataAccepted {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "DataAccepted";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "solver", "run"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.solver, e.run); }
    std::uint64_t task = 0;
    Address solver;
    std::uint32_t run = 0;
};
struct CheckpointCommitted {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "CheckpointCommitted";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"task", "run", "index", "commitment"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.index, e.commitment); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Hash32 commitment;
};
struct StateOpened {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "StateOpened";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"task", "run", "index", "root"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.index, e.root); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Hash32 root;
};
struct SegmentDrawn {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "SegmentDrawn";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"task", "run", "segment", "audited"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.segment, e.audited); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    bool audited = false;
};
struct SegmentVerified {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "SegmentVerified";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"task", "run", "segment", "audit"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.segment, e.audit); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    std::uint64_t audit = 0;
};
/// The run was paid for `count` segments from `first` on. Copies of a replica that joined are not counted.
struct SegmentsPaid {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "SegmentsPaid";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "solver", "run", "first", "count", "amount"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.solver, e.run, e.first, e.count, e.amount); }
    std::uint64_t task = 0;
    Address solver;
    std::uint32_t run = 0;
    std::uint64_t first = 0, count = 0;
    U256 amount;
};
/// The run is over: settled, forfeited or left.
struct RunEnded {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "RunEnded";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "solver", "run", "state", "reason"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.solver, e.run, e.state, e.reason); }
    std::uint64_t task = 0;
    Address solver;
    std::uint32_t run = 0;
    std::uint8_t state = 0;  ///< market::RunState
    std::string reason;
};
/// Audits of the run waited for auditors: they count as not drawn (`pay`), or the run ended there.
struct UnauditedDecided {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "UnauditedDecided";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"task", "run", "segment", "pay"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.run, e.segment, e.pay); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;  ///< First segment whose audit waited.
    bool pay = false;
};
/// Unused escrow was returned to the requester.
struct EscrowReturned {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "EscrowReturned";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "requester", "amount"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.requester, e.amount); }
    std::uint64_t task = 0;
    Address requester;
    U256 amount;
};

struct AuditorsDrawn {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "AuditorsDrawn";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"audit", "task", "run", "segment", "auditors"}; }
    static auto tie(auto& e) { return std::tie(e.audit, e.task, e.run, e.segment, e.auditors); }
    std::uint64_t audit = 0;
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    std::vector<Address> auditors;
};
struct AuditPhaseChanged {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "AuditPhaseChanged";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"audit", "task", "phase", "deadline"}; }
    static auto tie(auto& e) { return std::tie(e.audit, e.task, e.phase, e.deadline); }
    std::uint64_t audit = 0;
    std::uint64_t task = 0;
    std::uint8_t phase = 0;  ///< market::AuditPhase
    std::uint64_t deadline = 0;
};
struct VerdictCommitted {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "VerdictCommitted";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"audit", "auditor"}; }
    static auto tie(auto& e) { return std::tie(e.audit, e.auditor); }
    std::uint64_t audit = 0;
    Address auditor;
};
struct VerdictRevealed {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "VerdictRevealed";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"audit", "auditor", "root", "matches"}; }
    static auto tie(auto& e) { return std::tie(e.audit, e.auditor, e.root, e.matches); }
    std::uint64_t audit = 0;
    Address auditor;
    Hash32 root;
    bool matches = false;
};
struct AuditPaid {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "AuditPaid";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"audit", "auditor", "amount"}; }
    static auto tie(auto& e) { return std::tie(e.audit, e.auditor, e.amount); }
    std::uint64_t audit = 0;
    Address auditor;
    U256 amount;
};
struct RetentionAttested {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "RetentionAttested";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "keeper", "run", "index"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.keeper, e.run, e.index); }
    std::uint64_t task = 0;
    Address keeper;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
struct ReportOpened {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "ReportOpened";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"report", "task", "kind", "run", "index", "tensor", "tile", "deadline"}; }
    static auto tie(auto& e) {
        return std::tie(e.report, e.task, e.kind, e.run, e.index, e.tensor, e.tile, e.deadline);
    }
    std::uint64_t report = 0;
    std::uint64_t task = 0;
    std::uint8_t kind = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
    std::uint64_t deadline = 0;
};
struct ReportClosed {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "ReportClosed";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"report", "task", "answered"}; }
    static auto tie(auto& e) { return std::tie(e.report, e.task, e.answered); }
    std::uint64_t report = 0;
    std::uint64_t task = 0;
    bool answered = false;
};

struct DisputeOpened {
    static constexpr Contract kContract = Contract::disputes;
    static constexpr std::string_view kName = "DisputeOpened";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"dispute", "task", "run", "segment", "kind", "solver", "challenger"}; }
    static auto tie(auto& e) { return std::tie(e.dispute, e.task, e.run, e.segment, e.kind, e.solver, e.challenger); }
    std::uint64_t dispute = 0;
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    std::uint8_t kind = 0;  ///< market::DisputeKind
    Address solver, challenger;
};
struct DisputeMoved {
    static constexpr Contract kContract = Contract::disputes;
    static constexpr std::string_view kName = "DisputeMoved";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"dispute", "phase", "mover", "rounds", "deadline"}; }
    static auto tie(auto& e) { return std::tie(e.dispute, e.phase, e.mover, e.rounds, e.deadline); }
    std::uint64_t dispute = 0;
    std::uint8_t phase = 0;  ///< verifier::Phase after the move
    std::uint8_t mover = 0;  ///< Side that moves next.
    std::uint32_t rounds = 0;
    std::uint64_t deadline = 0;
};
struct DisputeDecided {
    static constexpr Contract kContract = Contract::disputes;
    static constexpr std::string_view kName = "DisputeDecided";
    static constexpr std::size_t kIndexed = 2;
    static Names names() {
        return {"dispute", "loser", "task", "ending",  "rounds",      "evidenceBytes", "step",
                "op",      "tile",  "link", "element", "claimedBits", "refereeBits"};
    }
    static auto tie(auto& e) {
        return std::tie(e.dispute, e.loser, e.task, e.ending, e.rounds, e.evidence_bytes, e.step, e.op, e.tile, e.link,
                        e.element, e.claimed_bits, e.referee_bits);
    }
    std::uint64_t dispute = 0;
    Address loser;  ///< Zero when it was withdrawn.
    std::uint64_t task = 0;
    std::uint8_t ending = 0;  ///< verifier::Ending
    std::uint32_t rounds = 0;
    std::uint64_t evidence_bytes = 0;
    std::uint64_t step = 0;
    std::uint32_t op = 0;
    std::uint64_t tile = 0, link = 0, element = 0;
    std::uint32_t claimed_bits = 0, referee_bits = 0;
};

using AnyEvent =
    std::variant<StakeChanged, Slashed, SolverRegistered, VerifierRegistered, VerifierLeft, BeaconMixed, TaskPosted,
                 TaskStateChanged, BidCommitted, BidRevealed, BidForfeited, TaskAssigned, DataAccepted,
                 CheckpointCommitted, StateOpened, SegmentDrawn, SegmentVerified, SegmentsPaid, RunEnded,
                 EscrowReturned, AuditorsDrawn, AuditPhaseChanged, VerdictCommitted, VerdictRevealed, AuditPaid,
                 RetentionAttested, ReportOpened, ReportClosed, DisputeOpened, DisputeMoved, DisputeDecided,
                 ReplicasWanted, RetentionRequested, RetentionClosed, CapabilityChallenged, CapabilityAnswered,
                 CapabilityMeasured, UnauditedDecided, ValidatorRegistered, ValidatorStakeChanged,
                 ValidatorPowerChanged, ValidatorJailed, UpgradeDecided, RoundPhaseChanged, SegmentCommitted,
                 RoundClosed, MasksChanged, MemberJoined, MemberLeaves, PlacePaid, TaskToppedUp, RunGivenBack,
                 TimeReserved, ReservationChanged, ReservationPaid, GroupRolledBack, UndoneRepaid, MembersAdmitted,
                 DataCommitted, ConsentGiven, ConsentAccepted, ConsentWithdrawn>;

}  // namespace retrace::contracts
