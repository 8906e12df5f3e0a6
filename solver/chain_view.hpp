// SPDX-License-Identifier: MIT
// The solver's view of the chain and the moves that it answers with. node/agents fills the view from contract records
// at one block and turns moves into signed calls; the agent decides. The contracts decide whether a call is legal now
// and the view only repeats it, so that no rule is written twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "merkle/base/bytes.hpp"
#include "solver/artifacts/report_kind.hpp"
#include "solver/capability/draw.hpp"
#include "solver/rounds/member_view.hpp"
#include "solver/train/schedule.hpp"

namespace retrace::solver {

/// The terms that a task fixes before the auction; they never change.
struct TaskTerms {
    std::uint64_t id = 0;
    Hash32 program_root;
    std::uint64_t program_bytes = 0;
    Hash32 init_root;  ///< Program root of the seeded initialiser; zero when initial_state_root is given.
    Hash32 initial_state_root;
    /// In a private group those of the member that the view is about, if this party has them; else none.
    std::vector<Hash32> data_roots;
    Schedule schedule;
    std::uint64_t seed = 0;
    Hash32 contract;                       ///< Kernel contract that the task asks for.
    std::optional<GroupTerms> group = {};  ///< Set for a group's task.
};

/// An auction that this solver takes part in. The service lists only auctions that it found a price for (market).
struct AuctionView {
    TaskTerms terms;
    std::uint32_t round = 0;
    bool may_commit = false;
    bool may_reveal = false;
};

/// A report that a tile is not served. It has to be answered on the ledger.
struct ReportView {
    std::uint64_t id = 0;
    ReportKind kind{};
    std::uint64_t index = 0;  ///< Index of the state or of the data set.
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
    std::uint64_t deadline = 0;  ///< Last block in which the answer is accepted.
    std::uint64_t due = 0;       ///< Its place in this solver's order of work; 0: unknown.
};

/// An assignment of this solver that is not over.
struct RunView {
    TaskTerms terms;
    std::uint32_t run = 0;
    bool may_accept = false;        ///< acceptData or decline is due.
    std::uint64_t first_state = 0;  ///< Index of the state that the run starts from.
    Hash32 first_root;              ///< Root of that state; zero for state 0.
    std::uint64_t next_state = 0;   ///< Checkpoint to post next; above the last index once all are posted.
    bool may_commit = false;
    bool spot = false;                           ///< It may be given back at a checkpoint.
    bool given_back = false;                     ///< It was: the state before `next_state` is its last one.
    std::vector<std::uint64_t> open_segments;    ///< States i that openSegment asks for.
    std::vector<std::uint64_t> reveal_segments;  ///< States i + 1 that revealSegment asks for.
    std::vector<std::uint64_t> open_roots;       ///< States that openRoots asks for, ascending.
    std::vector<ReportView> reports;             ///< Unanswered reports.
    std::uint64_t keep_from = 0;                 ///< States below this index are no longer asked for.
    /// The run that made the first state, while it may still be reported that the state's keepers do not serve it.
    std::optional<std::uint32_t> may_report_kept;
    std::uint64_t accept_by = 0;  ///< Last height at which acceptData is accepted; 0: unknown.
    std::uint64_t deadline = 0;   ///< Deadline of acceptData, then of the next checkpoint; 0: none is due.
    /// Most multiply-adds of a segment that a machine like this one computes in the time to a checkpoint and replays in
    /// the time of auditors; 0: not measured. Only the processors are measured, so it is no bound for a device.
    std::uint64_t replay_cost_max = 0;
    /// Multiply-adds of a step that the terms state, for which the bid was made; 0: they state none, or it is a group's.
    std::uint64_t stated_cost = 0;
    /// Multiply-adds that this machine does in the time of its clock in one dispute, less the time that the moves take
    /// to reach the chain; 0: not measured.
    std::uint64_t dispute_cost_max = 0;
    /// The newest finalised state if it is opened, nobody keeps it, and its retention makes a much larger payment
    /// possible.
    std::optional<std::uint64_t> unkept;
    /// Set for a group's task. Its state `index` is then opened by OpenMember, whatever asks for it.
    std::optional<MemberView> member = {};
};

/// A seat of a group that this solver found a price for. It locks its stake for it only when what the first state is made
/// from is here.
struct SeatView {
    TaskTerms terms;
    std::uint32_t run = 0;    ///< Of the state at whose base it would begin,
    std::uint64_t index = 0;  ///< and that state's index; 0, 0 before the first round.
    EntryView entry;
    std::uint64_t replay_cost_max = 0, dispute_cost_max = 0;  ///< As those of a RunView.
};

/// A capability challenge that waits for a move of this solver.
struct ChallengeView {
    std::uint64_t id = 0;
    std::uint64_t seed = 0;
    std::uint64_t stop_height = 0;      ///< The benchmark runs until this block is seen.
    bool may_answer = false;            ///< answerCapability is due.
    bool may_prove = false;             ///< proveCapability is due.
    std::uint64_t rounds = 0;           ///< Claimed number of rounds of the run to prove.
    std::vector<CapabilityDraw> draws;  ///< Elements that the proof has to open.
};

struct SolverView {
    std::uint64_t height = 0;
    std::vector<AuctionView> auctions;
    std::vector<RunView> runs;
    std::vector<SeatView> seats;
    /// Runs of the store that are not over and yet not among `runs`: of a frozen task, or unknown to a ledger that ends before
    /// them. All of their states are kept.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> not_over;
    std::optional<ChallengeView> challenge;
};

struct CommitBid {
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    Hash32 salt;  ///< The service computes the commitment from it (market).
};
struct RevealBid {
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    Hash32 salt;
};
struct AcceptData {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
};
struct Decline {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::string reason;  ///< For the log.
};
/// Takes a free seat of a group, at the base of state `index` of run `anchor`.
struct JoinGroup {
    std::uint64_t task = 0;
    std::uint32_t anchor = 0;
    std::uint64_t index = 0;
};
struct CommitCheckpoint {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Hash32 commitment;
};
struct Opening {
    std::uint64_t index = 0;
    Hash32 salt, root;
};
/// Fixes the data sets on which a member of a private group trains.
struct CommitData {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::vector<Hash32> data;
};
/// openSegment: reveals the start of segment opening.index.
struct OpenSegment {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Opening opening;
};
/// revealSegment: reveals the end of segment opening.index - 1.
struct RevealSegment {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Opening opening;
};
struct OpenRoots {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::vector<Opening> openings;
};
struct AnswerReport {
    std::uint64_t report = 0;
    Bytes answer;  ///< An encoded TileAnswer (solver/artifacts/availability.hpp), or a program record.
};
/// Reports that the keepers who were paid for a run's first state do not serve it.
struct ReportKept {
    std::uint64_t task = 0;
    std::uint32_t run = 0;  ///< The run that made the state.
    std::uint64_t index = 0;
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
};
/// Offers a verifier the fee for keeping an opened state.
struct RequestRetention {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
/// Commits to state `index` of a member, the end of a segment with `steps` inner steps that takes in the records before
/// round `base`.
struct CommitRound {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::uint32_t base = 0, steps = 0;
    Hash32 commitment;
    std::vector<Hash32> message;  ///< Roots of the public tensors; empty without inner steps.
    Hash32 masks;                 ///< In a group with masks, root of the table of those over the message; else zero.
};
/// Commits to the messages of the open round that the member has whole: bit i (of byte i / 8, least significant first)
/// stands for MemberView::committed[i].
struct CommitHoldings {
    std::uint64_t task = 0;
    std::uint32_t run = 0, round = 0;
    Hash32 salt;  ///< The service computes the commitment from it (market).
    Bytes bitmap;
};
struct RevealHoldings {
    std::uint64_t task = 0;
    std::uint32_t run = 0, round = 0;
    Hash32 salt;
    Bytes bitmap;
};
/// Opens a state of a member and proves the roots of its shared tensors, and of the public ones if its segment has
/// inner steps. The service encodes header, leaves and proof (verifier).
struct OpenMember {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Opening opening;
    kernels::StateHeader header;
    std::vector<std::uint32_t> tensors;  ///< Numbers of the tensors, ascending,
    std::vector<Hash32> leaves;          ///< and their roots.
    kernels::ProgramHeader program;      ///< Of the plan's phase `inner`, which says how many tensors a state has.
    merkle::MultiProof proof;
};
struct AnswerCapability {
    std::uint64_t challenge = 0;
    std::uint64_t rounds = 0;
    Hash32 root;
};
struct ProveCapability {
    std::uint64_t challenge = 0;
    Bytes proof;  ///< An encoded CapabilityProof (solver/capability/evidence.hpp).
};
using SolverMove = std::variant<CommitBid, RevealBid, AcceptData, Decline, CommitCheckpoint, OpenSegment, RevealSegment,
                                OpenRoots, AnswerReport, ReportKept, RequestRetention, CommitRound, CommitHoldings,
                                RevealHoldings, OpenMember, AnswerCapability, ProveCapability, CommitData, JoinGroup>;

}  // namespace retrace::solver
