// SPDX-License-Identifier: MIT
// The methods that change state, as plain structs: wallets and agents fill them in (`calldata(CommitBid{...})`,
// contracts/calls/encode.hpp), and rules receive the same types. A method's selector, ABI JSON and decoder all come
// from kName, names and tie. SPEC 4.
#pragma once

#include <tuple>
#include <variant>
#include <vector>

#include "contracts/calls/addresses.hpp"
#include "contracts/calls/group_calls.hpp"
#include "market/types.hpp"

namespace retrace::contracts {

using ledger::Address;
using ledger::U256;
using market::TaskSpec;

using Names = std::vector<std::string_view>;

// --- staking ---

/// Adds msg.value to the sender's stake.
struct Deposit {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "deposit";
    static constexpr bool kPayable = true;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
/// Starts to unbond `amount` of the stake that is not locked; restarts the unbonding period of all that is already
/// unbonding.
struct BeginUnbond {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "beginUnbond";
    static constexpr bool kPayable = false;
    static Names names() { return {"amount"}; }
    static auto tie(auto& c) { return std::tie(c.amount); }
    U256 amount;
};
/// Pays out the stake whose unbonding period is over.
struct Withdraw {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "withdraw";
    static constexpr bool kPayable = false;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
struct RegisterSolver {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "registerSolver";
    static constexpr bool kPayable = false;
    static Names names() { return {"endpoint", "hardwareClass"}; }
    static auto tie(auto& c) { return std::tie(c.endpoint, c.hardware_class); }
    std::string endpoint;
    std::uint8_t hardware_class = 0;
};
/// Joins the verifiers and the beacon; `head` is the newest value of the sender's hash chain.
struct RegisterVerifier {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "registerVerifier";
    static constexpr bool kPayable = false;
    static Names names() { return {"endpoint", "chainHead"}; }
    static auto tie(auto& c) { return std::tie(c.endpoint, c.head); }
    std::string endpoint;
    Hash32 head;
};
/// Leaves the verifiers: the sender is drawn no more and owes no more reveals. Stake locked in audits stays locked
/// until they end.
struct RetireVerifier {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "retireVerifier";
    static constexpr bool kPayable = false;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
/// This epoch's reveal: beacon_link(preimage) is the registered head.
struct RevealBeacon {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "revealBeacon";
    static constexpr bool kPayable = false;
    static Names names() { return {"preimage"}; }
    static auto tie(auto& c) { return std::tie(c.preimage); }
    Hash32 preimage;
};
/// States that the sender ran its benchmark for `rounds` rounds; `root` commits to all of them
/// (solver/capability/evidence.hpp).
struct AnswerCapability {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "answerCapability";
    static constexpr bool kPayable = false;
    static Names names() { return {"challenge", "rounds", "root"}; }
    static auto tie(auto& c) { return std::tie(c.challenge, c.rounds, c.root); }
    std::uint64_t challenge = 0;
    std::uint64_t rounds = 0;
    Hash32 root;
};
/// `proof` is an encoded solver::CapabilityProof of the elements that were drawn.
struct ProveCapability {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "proveCapability";
    static constexpr bool kPayable = false;
    static Names names() { return {"challenge", "proof"}; }
    static auto tie(auto& c) { return std::tie(c.challenge, c.proof); }
    std::uint64_t challenge = 0;
    Bytes proof;
};

// --- market ---

/// msg.value is the escrow: market::escrow_of(spec, params), and the deposit for the rent of a place, if there is one
/// (SPEC 12.8). What is more returns: at once if the place has no rent, else at the end.
struct PostTask {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "postTask";
    static constexpr bool kPayable = true;
    static Names names() { return {"spec"}; }
    static auto tie(auto& c) { return std::tie(c.spec); }
    TaskSpec spec;
};
/// Asks a solver to keep its time for one task, which may begin from height `from` on and below `until`. `price`: of a
/// segment. msg.value is the deposit, which returns when the solver runs the task, does not accept the reservation, or the requester
/// withdraws it before.
struct Reserve {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "reserve";
    static constexpr bool kPayable = true;
    static Names names() { return {"spec", "solver", "price", "from", "until"}; }
    static auto tie(auto& c) { return std::tie(c.spec, c.solver, c.price, c.from, c.until); }
    TaskSpec spec;
    Address solver;
    U256 price;
    std::uint64_t from = 0, until = 0;
};
/// The solver promises its time, and locks the stake floor of the task.
struct AcceptReservation {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "acceptReservation";
    static constexpr bool kPayable = false;
    static Names names() { return {"reservation"}; }
    static auto tie(auto& c) { return std::tie(c.reservation); }
    std::uint64_t reservation = 0;
};
/// The requester posts the reserved task without an auction: it is assigned to the solver. msg.value is that of postTask.
struct BeginReserved {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "beginReserved";
    static constexpr bool kPayable = true;
    static Names names() { return {"reservation"}; }
    static auto tie(auto& c) { return std::tie(c.reservation); }
    std::uint64_t reservation = 0;
};
/// The requester takes back an offer that its solver has not accepted; the deposit returns.
struct WithdrawReservation {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "withdrawReservation";
    static constexpr bool kPayable = false;
    static Names names() { return {"reservation"}; }
    static auto tie(auto& c) { return std::tie(c.reservation); }
    std::uint64_t reservation = 0;
};
struct CancelTask {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "cancelTask";
    static constexpr bool kPayable = false;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
/// msg.value is params.bid_deposit and market::bid_place_fee; more returns at once. `commitment` is
/// market::bid_commitment. Locks market::stake_floor of the sender's stake until the auction is lost or the run is over.
struct CommitBid {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "commitBid";
    static constexpr bool kPayable = true;
    static Names names() { return {"task", "commitment"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.commitment); }
    std::uint64_t task = 0;
    Hash32 commitment;
};
/// Opens the commitment; the deposit returns when the auction closes.
struct RevealBid {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "revealBid";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "price", "finishHeight", "salt"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.price, c.finish_height, c.salt); }
    std::uint64_t task = 0;
    U256 price;
    std::uint64_t finish_height = 0;
    Hash32 salt;
};
/// The winner confirms that it has program and data; the run begins.
struct AcceptData {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "acceptData";
    static constexpr bool kPayable = false;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
/// The winner declines at no charge.
struct DeclineTask {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "declineTask";
    static constexpr bool kPayable = false;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};
/// Commits to state `index` by solver::checkpoint_commitment. The first index is the run's first state; the others
/// follow in order.
struct CommitCheckpoint {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "commitCheckpoint";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "index", "commitment"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.index, c.commitment); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Hash32 commitment;
};
/// Commits to state `index` of a spot task's run as its last one: the run ends without a loss when all that it has
/// committed is finalised, and the task is auctioned again from there.
struct GiveBack {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "giveBack";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "index", "commitment"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.index, c.commitment); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Hash32 commitment;
};
inline constexpr std::size_t kOpeningsMax = 256;  ///< States that one call may open. SPEC 13.9.1.
/// Opens states first .. first + roots.size() - 1, which no audit needs hidden any more.
struct OpenRoots {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "openRoots";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "first", "salts", "roots"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.first, c.salts, c.roots); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t first = 0;
    std::vector<Hash32> salts, roots;
};
/// The requester confirms that it has the model.
struct AcceptModel {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "acceptModel";
    static constexpr bool kPayable = false;
    static Names names() { return {"task"}; }
    static auto tie(auto& c) { return std::tie(c.task); }
    std::uint64_t task = 0;
};

/// Raises the number of replicas to `replicas` in all. msg.value is market::escrow_of_more for the missing ones, for
/// the segments from views::newest_finalised_state on.
struct RaiseReplicas {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "raiseReplicas";
    static constexpr bool kPayable = true;
    static Names names() { return {"task", "replicas"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.replicas); }
    std::uint64_t task = 0;
    std::uint8_t replicas = 0;
};

/// The requester of an open task raises the ceiling that its next auctions have at least, and lets up to `auctions` more
/// follow ones without winners. msg.value is market::escrow_of_top_up; more lengthens the time of a place that pays rent, and
/// otherwise returns at once.
struct TopUpTask {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "topUpTask";
    static constexpr bool kPayable = true;
    static Names names() { return {"task", "ceiling", "auctions"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.ceiling, c.auctions); }
    std::uint64_t task = 0;
    U256 ceiling;
    std::uint32_t auctions = 0;
};

/// The requester decides on audits for which no auditors can be drawn. `pay`: they count as not drawn, and the run goes
/// on; otherwise the run ends and is paid for its finalised segments.
struct DecideUnaudited {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "decideUnaudited";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "pay"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.pay); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    bool pay = false;
};

// --- audits ---

/// Opens the start of a drawn segment.
struct OpenSegment {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "openSegment";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "segment", "salt", "root"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.segment, c.salt, c.root); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 salt, root;
};
/// Commits to a verdict by solver::verdict_commitment.
struct CommitVerdict {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "commitVerdict";
    static constexpr bool kPayable = false;
    static Names names() { return {"audit", "commitment"}; }
    static auto tie(auto& c) { return std::tie(c.audit, c.commitment); }
    std::uint64_t audit = 0;
    Hash32 commitment;
};
/// Opens the end of a drawn segment: salt and root of state segment + 1.
struct RevealSegment {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "revealSegment";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "segment", "salt", "root"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.segment, c.salt, c.root); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 salt, root;
};
struct RevealVerdict {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "revealVerdict";
    static constexpr bool kPayable = false;
    static Names names() { return {"audit", "root", "salt"}; }
    static auto tie(auto& c) { return std::tie(c.audit, c.root, c.salt); }
    std::uint64_t audit = 0;
    Hash32 root, salt;
};
/// An auditor whose verdict matched attests that it keeps the segment's end (state `index`), and is paid for its audit.
struct AttestRetention {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "attestRetention";
    static constexpr bool kPayable = false;
    static Names names() { return {"task", "run", "index"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.index); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
/// The solver offers msg.value (at least params.audit_fee) to the first verifier that keeps its opened state `index`.
struct RequestRetention {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "requestRetention";
    static constexpr bool kPayable = true;
    static Names names() { return {"task", "run", "index"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.index); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
/// msg.value is params.report_fee, which is returned when the solver fails to answer.
struct ReportUnavailable {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "reportUnavailable";
    static constexpr bool kPayable = true;
    static Names names() { return {"kind", "task", "run", "index", "tensor", "tile"}; }
    static auto tie(auto& c) { return std::tie(c.kind, c.task, c.run, c.index, c.tensor, c.tile); }
    std::uint8_t kind = 0;  ///< market::ReportKind
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
};
/// `proof` is an encoded TileAnswer (solver/artifacts/availability.hpp).
struct AnswerUnavailable {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "answerUnavailable";
    static constexpr bool kPayable = false;
    static Names names() { return {"report", "proof"}; }
    static auto tie(auto& c) { return std::tie(c.report, c.proof); }
    std::uint64_t report = 0;
    Bytes proof;
};

// --- disputes ---

/// msg.value is market::challenge_bond of the task. `root` is the sender's result for the segment's end.
struct ChallengeSegment {
    static constexpr Contract kContract = Contract::disputes;
    static constexpr std::string_view kName = "challengeSegment";
    static constexpr bool kPayable = true;
    static Names names() { return {"task", "run", "segment", "root"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.segment, c.root); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 root;
};
/// Disputes the root of the seeded initial state. msg.value is market::challenge_bond of the task.
struct ChallengeInitial {
    static constexpr Contract kContract = Contract::disputes;
    static constexpr std::string_view kName = "challengeInitial";
    static constexpr bool kPayable = true;
    static Names names() { return {"task", "run", "root"}; }
    static auto tie(auto& c) { return std::tie(c.task, c.run, c.root); }
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Hash32 root;
};
/// `move` is an encoded verifier::Move.
struct PlayMove {
    static constexpr Contract kContract = Contract::disputes;
    static constexpr std::string_view kName = "move";
    static constexpr bool kPayable = false;
    static Names names() { return {"dispute", "move"}; }
    static auto tie(auto& c) { return std::tie(c.dispute, c.move); }
    std::uint64_t dispute = 0;
    Bytes move;
};

// --- validators ---

/// Names the keys of the sender's validator: the Ed25519 key that signs votes, with its signature of
/// `validator_key_message(sender)`, and the P-256 key of its beacon shares, with its VRF proof for the same message.
/// A sender that has keys replaces them from the next epoch on.
struct RegisterValidator {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "registerValidator";
    static constexpr bool kPayable = false;
    static Names names() { return {"key", "signature", "vrfKey", "vrfProof"}; }
    static auto tie(auto& c) { return std::tie(c.key, c.signature, c.vrf_key, c.vrf_proof); }
    Hash32 key;
    Bytes signature, vrf_key, vrf_proof;
};
/// Locks `amount` of the sender's free stake for its validator, whose power it raises from the next epoch on.
struct BondValidator {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "bondValidator";
    static constexpr bool kPayable = false;
    static Names names() { return {"amount"}; }
    static auto tie(auto& c) { return std::tie(c.amount); }
    U256 amount;
};
/// Takes `amount` from the validator's stake: it gives no power from the next epoch on, and stays locked until what the
/// validator has signed can no longer be punished.
struct UnbondValidator {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "unbondValidator";
    static constexpr bool kPayable = false;
    static Names names() { return {"amount"}; }
    static auto tie(auto& c) { return std::tie(c.amount); }
    U256 amount;
};
/// Unlocks the stake whose unbonding period is over.
struct ReleaseValidator {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "releaseValidator";
    static constexpr bool kPayable = false;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};
/// The sender's validator votes that the chain goes on by the next version of the rules from block `height` on. A new
/// vote replaces its last one; version 0 withdraws it.
struct VoteUpgrade {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "voteUpgrade";
    static constexpr bool kPayable = false;
    static Names names() { return {"version", "height"}; }
    static auto tie(auto& c) { return std::tie(c.version, c.height); }
    std::uint64_t version = 0;
    std::uint64_t height = 0;
};
/// Ends the time in which the sender's validator is kept out of the set because it did not vote.
struct UnjailValidator {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "unjailValidator";
    static constexpr bool kPayable = false;
    static Names names() { return {}; }
    static auto tie(auto&) { return std::tie(); }
};

/// Every method that changes state. A payload without all three phases of its rule does not compile (dispatch).
using AnyCall =
    std::variant<Deposit, BeginUnbond, Withdraw, RegisterSolver, RegisterVerifier, RetireVerifier, RevealBeacon,
                 AnswerCapability, ProveCapability, PostTask, CancelTask, CommitBid, RevealBid, AcceptData, DeclineTask,
                 CommitCheckpoint, OpenRoots, AcceptModel, RaiseReplicas, DecideUnaudited, OpenSegment, CommitVerdict,
                 RevealSegment, RevealVerdict, AttestRetention, RequestRetention, ReportUnavailable, AnswerUnavailable,
                 ChallengeSegment, ChallengeInitial, PlayMove, RegisterValidator, BondValidator, UnbondValidator,
                 ReleaseValidator, UnjailValidator, VoteUpgrade, PostGroup, CommitRound, CommitHoldings, RevealHoldings,
                 OpenMember, JoinTask, LeaveTask, MaskKeys, MaskShares, Unmask, TopUpTask, GiveBack, Reserve,
                 AcceptReservation, BeginReserved, WithdrawReservation, ComplainOfShare, AdmitMembers, CommitData,
                 GiveConsent, AcceptConsent, WithdrawConsent, ShowMasks>;

}  // namespace retrace::contracts
