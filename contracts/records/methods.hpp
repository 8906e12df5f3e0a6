// SPDX-License-Identifier: MIT
// The methods that read records through eth_call, for wallets and explorers. Agents use views.hpp. SPEC 6.3. `Answer`
// is the returned record; an unknown id is refused with the matching status.
#pragma once

#include <variant>

#include "contracts/calls/call_status.hpp"
#include "contracts/calls/calls.hpp"
#include "contracts/records/auctions.hpp"
#include "contracts/records/group_methods.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/standing.hpp"
#include "contracts/records/validator_views.hpp"
#include "contracts/records/views.hpp"

namespace retrace::contracts {

struct ReadStake {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "stakeOf";
    using Answer = market::Stake;
    static Names names() { return {"party"}; }
    static auto tie(auto& c) { return std::tie(c.party); }
    Address party;
};
struct ReadSolver {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "solverOf";
    using Answer = market::SolverInfo;
    static Names names() { return {"party"}; }
    static auto tie(auto& c) { return std::tie(c.party); }
    Address party;
};
/// As it weighed at its own height (market 13.2); zeros for who has done nothing.
struct ReadStanding {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "standingOf";
    using Answer = market::Standing;
    static Names names() { return {"party"}; }
    static auto tie(auto& c) { return std::tie(c.party); }
    Address party;
};
struct ReadVerifier {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "verifierOf";
    using Answer = market::VerifierInfo;
    static Names names() { return {"party"}; }
    static auto tie(auto& c) { return std::tie(c.party); }
    Address party;
};
struct ReadChallenge {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "challengeOf";
    using Answer = market::Challenge;
    static Names names() { return {"solver"}; }
    static auto tie(auto& c) { return std::tie(c.solver); }
    Address solver;
};
struct ReadBeacon {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "beacon";
    using Answer = views::Beacon;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
struct ReadParams {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "params";
    using Answer = market::Params;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
struct TaskIds {
    static auto tie(auto& t) { return std::tie(t.count, t.active); }
    static Names names() { return {"count", "active"}; }
    std::uint64_t count = 0;
    std::vector<std::uint64_t> active;
};
struct ReadTaskIds {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "taskIds";
    using Answer = TaskIds;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
/// The places of open tasks, and what the next one costs (12.8).
struct Places {
    static auto tie(auto& p) { return std::tie(p.taken, p.most, p.rent); }
    static Names names() { return {"taken", "most", "rent"}; }
    std::uint64_t taken = 0, most = 0;
    U256 rent;  ///< A block, of the next task; 0 also when no place is free.
};
struct ReadPlaces {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "places";
    using Answer = Places;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
/// The rent of a task's place; zeros when it pays none.
struct ReadPlace {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "placeOf";
    using Answer = market::Place;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
/// The ceiling of the auction that would follow (12.12.7), and how many may follow ones without winners; zeros when the
/// task has ended.
struct ReadNextAuction {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "nextAuctionOf";
    using Answer = market::NextAuction;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
struct ReadReservation {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "reservationOf";
    using Answer = market::Reservation;
    static Names names() { return {"reservation"}; }
    static auto tie(auto& c) { return std::tie(c.reservation); }
    std::uint64_t reservation = 0;
};
/// The terms of a task that has been reserved and has not begun.
struct ReadReservedSpec {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "reservedSpecOf";
    using Answer = TaskSpec;
    static Names names() { return {"reservation"}; }
    static auto tie(auto& c) { return std::tie(c.reservation); }
    std::uint64_t reservation = 0;
};
struct ReadSpec {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "specOf";
    using Answer = TaskSpec;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
struct ReadTask {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "taskOf";
    using Answer = market::Task;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
struct ReadBid {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "bidOf";
    using Answer = market::Bid;
    static Names names() { return {"task", "bidder"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.bidder); }
    std::uint64_t task = 0;
    Address bidder;
};
struct ReadRun {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "runOf";
    using Answer = market::Run;
    static Names names() { return {"task", "run"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
};
struct ReadCheckpoint {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "checkpointOf";
    using Answer = market::Checkpoint;
    static Names names() { return {"task", "run", "index"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.index); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
struct ReadSegment {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "segmentOf";
    using Answer = market::Segment;
    static Names names() { return {"task", "run", "index"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.index); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
struct ReadAudit {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "auditOf";
    using Answer = market::Audit;
    static Names names() { return {"audit"}; }
    static auto tie(auto& c) { return std::tie(c.audit); }
    std::uint64_t audit = 0;
};
struct ReadReport {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "reportOf";
    using Answer = market::Report;
    static Names names() { return {"report"}; }
    static auto tie(auto& c) { return std::tie(c.report); }
    std::uint64_t report = 0;
};
struct ReadRetention {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "retentionOf";
    using Answer = market::Retention;
    static Names names() { return {"retention"}; }
    static auto tie(auto& c) { return std::tie(c.retention); }
    std::uint64_t retention = 0;
};
struct ReadDispute {
    static constexpr Contract kContract = Contract::disputes;
    static constexpr std::string_view kName = "disputeOf";
    using Answer = market::Dispute;
    static Names names() { return {"dispute"}; }
    static auto tie(auto& c) { return std::tie(c.dispute); }
    std::uint64_t dispute = 0;
};

struct ReadValidator {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "validatorOf";
    using Answer = market::ValidatorInfo;
    static Names names() { return {"account"}; }
    static auto tie(auto& c) { return std::tie(c.account); }
    Address account;
};
struct ValidatorSet {
    static auto tie(auto& s) { return std::tie(s.members); }
    static Names names() { return {"members"}; }
    std::vector<SetMember> members;
};
struct ReadValidatorSet {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "validatorSet";
    using Answer = ValidatorSet;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
struct ReadUpgrade {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "upgrade";
    using Answer = Upgrade;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
struct ReadValidatorRules {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "validatorRules";
    using Answer = market::ValidatorRules;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};

using AnyRead =
    std::variant<ReadStake, ReadSolver, ReadVerifier, ReadChallenge, ReadBeacon, ReadParams, ReadTaskIds, ReadSpec,
                 ReadTask, ReadBid, ReadRun, ReadCheckpoint, ReadSegment, ReadAudit, ReadReport, ReadRetention,
                 ReadDispute, ReadValidator, ReadValidatorSet, ReadValidatorRules, ReadUpgrade, ReadGroupSpec,
                 ReadGroup, ReadRound, ReadRoundMessage, ReadHolding, ReadRoundMasks, ReadMemberMasks, ReadMember,
                 ReadMemberSegment, ReadPlaces, ReadPlace, ReadStanding, ReadNextAuction, ReadReservation,
                 ReadReservedSpec, ReadRollbacks, ReadMemberAttempts, ReadAdmitted, ReadConsent, ReadDivision>;

inline constexpr std::uint64_t kViewGas = 30'000;

/// Answer of a view method.
struct ViewAnswer {
    CallStatus status = CallStatus::ok;
    Bytes output;
};
/// Whether `data` calls a view method of `contract`.
bool is_view(Contract contract, View data);
std::optional<ViewAnswer> answer_view(Contract contract, View data, const ledger::StateView& view);

/// Decodes the record that a method returned. Instantiated for every member of AnyRead in read_encode.cpp, as are its
/// calldata and signature_of.
template <class Read>
std::optional<typename Read::Answer> decode_answer(View output);

}  // namespace retrace::contracts
