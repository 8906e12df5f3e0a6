// SPDX-License-Identifier: MIT
// What a solver sees of the chain, and what it answers. node/agents fills the view from contract records at
// one block and turns moves into signed calls; the agent decides. Whether a call is legal now is the
// contracts' business: the view says it, so that no rule is written twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "solver/artifacts/report_kind.hpp"
#include "solver/capability/draw.hpp"
#include "solver/train/schedule.hpp"

namespace retrace::solver {

/// What a task fixes before the auction; never changes.
struct TaskTerms {
    std::uint64_t id = 0;
    Hash32 program_root;
    std::uint64_t program_bytes = 0;
    Hash32 init_root;  ///< Seeded initialiser; zero when initial_state_root is given.
    Hash32 initial_state_root;
    std::vector<Hash32> data_roots;
    Schedule schedule;
    std::uint64_t seed = 0;
    Hash32 contract;  ///< Kernel contract that the task asks for.
};

/// An auction in which this solver takes part if the service found a price (market): only such are listed.
struct AuctionView {
    TaskTerms terms;
    std::uint32_t round = 0;
    bool may_commit = false;
    bool may_reveal = false;
};

/// "This tile is not served": to be answered on the ledger.
struct ReportView {
    std::uint64_t id = 0;
    ReportKind kind{};
    std::uint64_t index = 0;  ///< State, or data set.
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
    std::uint64_t deadline = 0;  ///< The last block that takes the answer.
    std::uint64_t due = 0;       ///< Its place in this solver's order of work; 0: not known.
};

/// An assignment of this solver that is not over.
struct RunView {
    TaskTerms terms;
    std::uint32_t run = 0;
    bool may_accept = false;        ///< acceptData or decline is due.
    std::uint64_t first_state = 0;  ///< Where the run starts,
    Hash32 first_root;              ///< and that state's root; zero for state 0.
    std::uint64_t next_state = 0;   ///< Checkpoint to post next; above the last one: all are posted.
    bool may_commit = false;
    std::vector<std::uint64_t> open_segments;    ///< States i that openSegment asks for.
    std::vector<std::uint64_t> reveal_segments;  ///< States i + 1 that revealSegment asks for.
    std::vector<std::uint64_t> open_roots;       ///< States that openRoots asks for, ascending.
    std::vector<ReportView> reports;             ///< Unanswered.
    std::uint64_t keep_from = 0;                 ///< States below it are asked for no more.
    /// The run that made the first state, while its keepers may be told that they do not serve it.
    std::optional<std::uint32_t> may_report_kept;
    std::uint64_t accept_by = 0;  ///< Last height at which acceptData is taken; 0: not known.
    std::uint64_t deadline = 0;   ///< Of acceptData, then of the next checkpoint; 0: none is due.
    /// Multiply-adds that a machine like this one can at most replay while auditors have time for a segment;
    /// 0: it was not measured. The processors are measured: it is no bound for who computes on a device.
    std::uint64_t replay_cost_max = 0;
    /// Multiply-adds that this machine does in the time of its clock in one dispute, beside the way of the moves to the
    /// chain; 0: it was not measured.
    std::uint64_t dispute_cost_max = 0;
    /// An opened state that nobody keeps, and whose keeping would let the chain pay for much work.
    std::optional<std::uint64_t> unkept;
};

/// A challenge of this solver that waits for one of its moves.
struct ChallengeView {
    std::uint64_t id = 0;
    std::uint64_t seed = 0;
    std::uint64_t stop_height = 0;      ///< The benchmark runs until this block is seen.
    bool may_answer = false;            ///< answerCapability is due.
    bool may_prove = false;             ///< proveCapability is due:
    std::uint64_t rounds = 0;           ///< of a run that was claimed to be so long,
    std::vector<CapabilityDraw> draws;  ///< at these elements.
};

struct SolverView {
    std::uint64_t height = 0;
    std::vector<AuctionView> auctions;
    std::vector<RunView> runs;
    std::optional<ChallengeView> challenge;
};

struct CommitBid {
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    Hash32 salt;  ///< The service makes the commitment (market) from it.
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
/// The first state of a run is not served by those who were paid for keeping it.
struct ReportKept {
    std::uint64_t task = 0;
    std::uint32_t run = 0;     ///< That made the state.
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
struct AnswerCapability {
    std::uint64_t challenge = 0;
    std::uint64_t rounds = 0;
    Hash32 root;
};
struct ProveCapability {
    std::uint64_t challenge = 0;
    Bytes proof;  ///< An encoded CapabilityProof (solver/capability/evidence.hpp).
};
using SolverMove = std::variant<CommitBid, RevealBid, AcceptData, Decline, CommitCheckpoint, OpenSegment,
                                RevealSegment, OpenRoots, AnswerReport, ReportKept, RequestRetention, AnswerCapability,
                                ProveCapability>;

}  // namespace retrace::solver
