// SPDX-License-Identifier: MIT
// Records of the contracts about tasks, runs, audits and disputes. SPEC 2. The zero value of every enum is
// invalid, so a record that was never written cannot be mistaken for one in some state.
#pragma once

#include <algorithm>

#include "market/accounts.hpp"
#include "market/life_cycle.hpp"

namespace retrace::market {

inline constexpr std::uint64_t kStepsMax = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kSegmentsMax = 1'000'000;
inline constexpr std::size_t kDataRootsMax = 4;
inline constexpr std::size_t kNameMax = 64;
inline constexpr std::size_t kEndpointMax = 256;
inline constexpr std::uint8_t kAuditorsMax = 5;
inline constexpr std::uint8_t kReplicasMax = 5;
inline constexpr std::uint8_t kAuctionsMax = 64;  ///< Of a task, at most; the chain's `rounds` may be less.
inline constexpr std::size_t kBiddersMax = 64;    ///< Bidders of one auction.
inline constexpr std::size_t kVerifiersMax = 1024;
inline constexpr std::size_t kCandidatesMax = 48;  ///< Parties that wait for a place among the verifiers.
inline constexpr std::size_t kSolversMax = 1024;
/// Limit for one party: on its bids and runs together, and on its audit seats and the disputes that it opened together.
inline constexpr std::size_t kOpenItemsMax = 256;

/// The terms of a task: they determine its result and its price. Once posted only `price_ceiling` changes, between auctions.
struct TaskSpec {
    std::string name;
    Hash32 program_root;
    std::uint64_t program_bytes = 0;
    Hash32 init_root;           ///< Seeded initialiser program; zero when initial_state_root is given.
    Hash32 initial_state_root;  ///< Exactly one of the two is not zero.
    std::vector<Hash32> data_roots;
    std::uint64_t steps = 0;     ///< T
    std::uint64_t interval = 0;  ///< C, steps in a segment.
    std::uint64_t seed = 0;
    Hash32 contract_hash;  ///< Kernel contract.
    U256 price_ceiling;    ///< Per segment.
    std::uint16_t audit_bp = 500;
    std::uint8_t auditors = 2;            ///< v
    std::uint8_t replicas = 1;            ///< r
    std::uint8_t hardware_class = 0;      ///< 0: any.
    std::uint64_t checkpoint_blocks = 0;  ///< Longest time between checkpoints; at least the chain's.
    std::uint64_t replay_blocks = 0;      ///< Allowance in blocks to execute one segment again.
    std::uint64_t finish_blocks = 0;      ///< Limit on a bid's finishing height, in blocks after the auction.
    std::uint64_t step_cost = 0;          ///< Multiply-adds of a step, by the program's cost rules; 0: unknown.
    bool allow_unaudited = false;  ///< Audits for which no auditors can be drawn count as not drawn (contracts 14.12).
    bool spot = false;             ///< Its solver may give it back at a checkpoint (contracts 13.12).
    U256 last_ceiling;  ///< Of a segment, after `auctions` - 1 auctions without winners (14.1); 0: as the first.
    std::uint8_t auctions = 1;       ///< How many may follow one another without winners, the first one included.
    std::uint64_t pause_blocks = 0;  ///< Blocks after an auction without winners before the next one takes bids.

    bool operator==(const TaskSpec&) const = default;
    static auto tie(auto& s) {
        return std::tie(s.name, s.program_root, s.program_bytes, s.init_root, s.initial_state_root, s.data_roots,
                        s.steps, s.interval, s.seed, s.contract_hash, s.price_ceiling, s.audit_bp, s.auditors,
                        s.replicas, s.hardware_class, s.checkpoint_blocks, s.replay_blocks, s.finish_blocks,
                        s.step_cost, s.allow_unaudited, s.spot, s.last_ceiling, s.auctions, s.pause_blocks);
    }
    static Names names() {
        return {"name",     "programRoot",    "programBytes",  "initRoot",         "initialStateRoot", "dataRoots",
                "steps",    "interval",       "seed",          "contractHash",     "priceCeiling",     "auditBp",
                "auditors", "replicas",       "hardwareClass", "checkpointBlocks", "replayBlocks",     "finishBlocks",
                "stepCost", "allowUnaudited", "spot",          "lastCeiling",      "auctions",         "pauseBlocks"};
    }
    /// The ceiling of a segment that the escrow and the stakes have to allow for.
    const U256& highest_ceiling() const noexcept { return std::max(price_ceiling, last_ceiling); }
    /// n = ceil(T / C)
    std::uint64_t segments() const noexcept { return interval == 0 ? 0 : (steps + interval - 1) / interval; }
    std::uint64_t first_step(std::uint64_t segment) const noexcept { return segment * interval; }
    std::uint64_t last_step(std::uint64_t segment) const noexcept { return std::min(steps, (segment + 1) * interval); }
};

struct Task {
    std::uint64_t id = 0;
    Address requester;
    TaskState state{};
    std::uint64_t posted_height = 0;
    std::uint32_t round = 0;            ///< Number of auctions so far.
    std::uint64_t bid_end = 0;          ///< Commitments are taken below this height,
    std::uint64_t reveal_end = 0;       ///< reveals from then on, below this height.
    U256 escrow;                        ///< Remaining coins for segments.
    U256 audit_budget;                  ///< Remaining coins for audits.
    std::uint64_t first_state = 0;      ///< Segments below it are paid; a successor starts here.
    Hash32 resume_root;                 ///< Root of state first_state; zero while first_state is 0.
    std::uint32_t runs = 0;             ///< Number of runs so far.
    std::vector<std::uint32_t> active;  ///< Runs that are not over, one for each replica.
    std::vector<Address> bidders;       ///< Bidders of the current auction, in order of commitment.
    std::vector<Address> excluded;      ///< Solvers that declined or forfeited; they may not bid again.
    std::uint64_t deliver_end = 0;
    std::uint8_t wanted = 0;          ///< Replicas that the open auction seeks; 0: no bids are taken.
    std::uint64_t joining_state = 0;  ///< State at which these start when the task runs already,
    Hash32 joining_root;              ///< and its root; zero for state 0.

    bool operator==(const Task&) const = default;
    static auto tie(auto& t) {
        return std::tie(t.id, t.requester, t.state, t.posted_height, t.round, t.bid_end, t.reveal_end, t.escrow,
                        t.audit_budget, t.first_state, t.resume_root, t.runs, t.active, t.bidders, t.excluded,
                        t.deliver_end, t.wanted, t.joining_state, t.joining_root);
    }
    static Names names() {
        return {"id",       "requester",   "state",      "postedHeight", "round",      "bidEnd", "revealEnd",
                "escrow",   "auditBudget", "firstState", "resumeRoot",   "runs",       "active", "bidders",
                "excluded", "deliverEnd",  "wanted",     "joiningState", "joiningRoot"};
    }
};

struct Bid {
    Hash32 commitment;
    U256 deposit;  ///< What the market holds for it: the chain's deposit and the fee of its place.
    bool revealed = false;
    U256 price;  ///< Per segment.
    std::uint64_t finish_height = 0;
    U256 locked;  ///< Locked from the bidder's stake.
    bool operator==(const Bid&) const = default;
    static auto tie(auto& b) {
        return std::tie(b.commitment, b.deposit, b.revealed, b.price, b.finish_height, b.locked);
    }
    static Names names() { return {"commitment", "deposit", "revealed", "price", "finishHeight", "locked"}; }
};

/// One assignment of a task to a solver.
struct Run {
    std::uint64_t task = 0;
    std::uint32_t index = 0;
    Address solver;
    RunState state{};
    U256 price;  ///< Per segment; set by the second price.
    std::uint64_t assigned_height = 0;
    std::uint64_t finish_height = 0;  ///< Height by which the last checkpoint is due.
    U256 locked;                      ///< Locked from the solver's stake.
    std::uint64_t first_state = 0;
    std::uint64_t next_state = 0;         ///< Index of the checkpoint to post next.
    std::uint64_t deadline = 0;           ///< Deadline of acceptData, then of that checkpoint; 0: none.
    std::uint64_t finalised = 0;          ///< Segments below it are finalised (contracts 13.4); starts at first_state.
    std::uint64_t paid = 0;               ///< Segments below it are paid; at most `finalised`.
    std::vector<std::uint64_t> retained;  ///< Verified states above `paid` that a keeper has, ascending.
    std::uint32_t open_disputes = 0;
    U256 earned;
    Hash32 first_root;                     ///< Agreed root of state first_state; zero while first_state is 0.
    std::uint64_t not_awaited_below = 0;   ///< For a replica that joined: no run waits for its states up to this one.
    std::uint32_t reports = 0;             ///< Reports of tiles of its first state that were not served.
    std::uint32_t open_reports = 0;        ///< Those of them that are not closed.
    std::uint64_t waits_until = 0;         ///< Height to which `deadline` includes the wait for their answers.
    std::uint64_t waited = 0;              ///< Blocks by which the deadline of acceptData has waited for them.
    std::uint64_t finish_waits_until = 0;  ///< Height to which `finish_height` includes the wait for their answers.
    std::uint64_t work_counted = 0;        ///< Part of the machine time ever assigned to its solver by which
                                           ///< `deadline` and `finish_height` have moved (contracts 18.4).
    std::uint32_t challenges = 0;          ///< Number of open disputes that strangers opened.
    std::uint64_t heard_until = 0;      ///< No challenge window ends before this height: strangers' places were full.
    bool joined = false;                ///< Joined while others ran the task, so it may have seen states they opened.
    std::uint64_t unaudited_since = 0;  ///< Height at which an audit began to wait for auditors; 0: none waits.
    std::uint64_t unaudited_from = 0;   ///< The first segment whose audit waits.
    bool pays_unaudited = false;        ///< The requester pays for the waiting audits; they are being processed.
    bool operator==(const Run&) const = default;
    static auto tie(auto& r) {
        return std::tie(r.task, r.index, r.solver, r.state, r.price, r.assigned_height, r.finish_height, r.locked,
                        r.first_state, r.next_state, r.deadline, r.finalised, r.paid, r.retained, r.open_disputes,
                        r.earned, r.first_root, r.not_awaited_below, r.reports, r.open_reports, r.waits_until, r.waited,
                        r.finish_waits_until, r.work_counted, r.challenges, r.heard_until, r.joined, r.unaudited_since,
                        r.unaudited_from, r.pays_unaudited);
    }
    static Names names() {
        return {"task",          "index",           "solver",           "state",
                "price",         "assignedHeight",  "finishHeight",     "locked",
                "firstState",    "nextState",       "deadline",         "clear",
                "paid",          "retained",        "openDisputes",     "earned",
                "firstRoot",     "notAwaitedBelow", "reports",          "openReports",
                "waitsUntil",    "waited",          "finishWaitsUntil", "workCounted",
                "challenges",    "heardUntil",      "joined",           "unauditedSince",
                "unauditedFrom", "paysUnaudited"};
    }
};

/// State `index` of a run: committed without revealing it, opened later.
struct Checkpoint {
    Hash32 commitment;
    std::uint64_t height = 0;
    bool opened = false;
    std::uint64_t open_height = 0;
    std::uint64_t open_deadline = 0;  ///< 0 until openRoots is due.
    Hash32 salt, root;
    std::vector<Address> keepers;           ///< Parties that attested to keep it.
    std::vector<std::uint64_t> kept_since;  ///< For each keeper, the number of reports made before it attested.
    bool operator==(const Checkpoint&) const = default;
    static auto tie(auto& c) {
        return std::tie(c.commitment, c.height, c.opened, c.open_height, c.open_deadline, c.salt, c.root, c.keepers,
                        c.kept_since);
    }
    static Names names() {
        return {"commitment", "height", "opened", "openHeight", "openDeadline", "salt", "root", "keepers", "keptSince"};
    }
};

enum class SegmentState : std::uint8_t {
    waiting_draw = 1,  ///< Committed; the beacon that decides on an audit is not known yet.
    unaudited = 2,     ///< Not drawn, or no audit came to a verdict.
    auditing = 3,
    verified = 4,  ///< A matching reveal.
};                 // (Segments below Run::paid are paid.)
constexpr SegmentState last_of(SegmentState) { return SegmentState::verified; }
std::string_view slug(SegmentState state) noexcept;

/// Segment `index` leads from state `index` to state `index` + 1.
struct Segment {
    SegmentState state{};
    std::uint64_t commit_height = 0;
    std::uint64_t draw_epoch = 0;  ///< Epoch of the beacon that decides on an audit.
    std::uint32_t audits = 0;      ///< Audit rounds so far.
    std::uint32_t postponed = 0;   ///< Number of draws that found no verifier.
    std::uint64_t audit = 0;       ///< Id of the newest audit; 0: none.
    std::uint64_t window_end = 0;  ///< 0 until both ends are opened.
    std::uint32_t open_disputes = 0;
    std::uint32_t challenges = 0;     ///< Number of these that strangers opened.
    std::uint64_t audit_dispute = 0;  ///< Open dispute of a drawn auditor; 0: none.
    bool not_awaited = false;         ///< Its end was committed when no other run waited for it.
    std::uint64_t not_paid = 0;       ///< Number of copies in its run up to this segment; set when finalised.
    bool operator==(const Segment&) const = default;
    static auto tie(auto& s) {
        return std::tie(s.state, s.commit_height, s.draw_epoch, s.audits, s.postponed, s.audit, s.window_end,
                        s.open_disputes, s.challenges, s.audit_dispute, s.not_awaited, s.not_paid);
    }
    static Names names() {
        return {"state",     "commitHeight", "drawEpoch",  "audits",       "postponed",  "audit",
                "windowEnd", "openDisputes", "challenges", "auditDispute", "notAwaited", "notPaid"};
    }
};

enum class AuditPhase : std::uint8_t {
    waiting = 1,     ///< Opening the segment's start would leak another audit's answer.
    opening = 2,     ///< The solver owes openSegment.
    collecting = 3,  ///< The auditors owe commitVerdict.
    drawing = 4,     ///< A later beacon draws auditors, or replacements for silent ones.
    revealing = 5,   ///< The solver owes revealSegment.
    verdicts = 6,    ///< The auditors owe revealVerdict.
    closed = 7,
    no_auditors = 8,  ///< No auditors can be drawn: the requester may decide (contracts 14.12).
};
constexpr AuditPhase last_of(AuditPhase) { return AuditPhase::no_auditors; }
std::string_view slug(AuditPhase phase) noexcept;

enum class SeatState : std::uint8_t {
    drawn = 1,
    committed = 2,
    matched = 3,
    mismatched = 4,
    missed = 5,
    released = 6,
};
constexpr SeatState last_of(SeatState) { return SeatState::released; }

struct Seat {
    Address auditor;
    SeatState state{};
    U256 bond;  ///< Locked from the auditor's stake; zero once released or lost.
    Hash32 commitment, root;
    bool paid = false;
    std::uint32_t reports = 0;  ///< Tiles that it reported as not served, charged to this seat.
    std::uint32_t moves = 0;    ///< Moves by reports charged to other cases (contracts 16.1.20).
    std::uint64_t due = 0;      ///< Place in its party's order of work (contracts 18.2).
    bool operator==(const Seat&) const = default;
    static auto tie(auto& s) {
        return std::tie(s.auditor, s.state, s.bond, s.commitment, s.root, s.paid, s.reports, s.moves, s.due);
    }
    static Names names() {
        return {"auditor", "state", "bond", "commitment", "root", "paid", "reports", "moves", "due"};
    }
};

struct Audit {
    std::uint64_t id = 0;
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    AuditPhase phase{};
    std::uint64_t deadline = 0;  ///< Deadline of the phase; 0: none.
    std::uint64_t redraws = 0;
    std::vector<Seat> seats;
    std::vector<std::uint32_t> waiting;  ///< Seats whose verdict differs and has no dispute yet, in order of reveal.
    bool operator==(const Audit&) const = default;
    static auto tie(auto& a) {
        return std::tie(a.id, a.task, a.run, a.segment, a.phase, a.deadline, a.redraws, a.seats, a.waiting);
    }
    static Names names() {
        return {"id", "task", "run", "segment", "phase", "deadline", "redraws", "seats", "waiting"};
    }
};

enum class DisputeKind : std::uint8_t {
    audit = 1,            ///< A drawn auditor's reveal differs.
    challenge = 2,        ///< challengeSegment, at the challenger's cost.
    initial = 3,          ///< challengeInitial: the seeded initial state.
    replica = 4,          ///< Another run's root differs.
    replica_initial = 5,  ///< Another run's seeded initial state differs.
};
constexpr DisputeKind last_of(DisputeKind) { return DisputeKind::replica_initial; }
constexpr bool is_initial(DisputeKind kind) {
    return kind == DisputeKind::initial || kind == DisputeKind::replica_initial;
}
constexpr bool between_replicas(DisputeKind kind) {
    return kind == DisputeKind::replica || kind == DisputeKind::replica_initial;
}

enum class DisputeState : std::uint8_t {
    open = 1,
    solver_lost = 2,
    challenger_lost = 3,
    withdrawn = 4,  ///< Closed by the run's end; the bond was returned.
};
constexpr DisputeState last_of(DisputeState) { return DisputeState::withdrawn; }
std::string_view slug(DisputeState state) noexcept;

/// The accounts of a dispute; the game itself is another record (contracts/records/views.hpp: game).
struct Dispute {
    std::uint64_t id = 0;
    DisputeKind kind{};
    DisputeState state{};
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Address solver, challenger;
    std::uint64_t audit = 0;  ///< Audit in which the challenger holds its seat; 0: none.
    Hash32 claimed_root;      ///< The challenger's result for the end; zero when it gave none.
    U256 bond;                ///< Coins held, or locked stake for audit and replica.
    std::uint64_t solver_clock = 0, challenger_clock = 0;  ///< Remaining blocks.
    std::uint64_t turn_height = 0;                         ///< Height at which the party to move got the turn.
    std::uint64_t deadline = 0;                            ///< The mover's clock runs out after this height.
    std::uint8_t mover = 0;                                ///< 1 solver, 2 challenger (verifier::Side).
    std::uint64_t opened_height = 0;
    std::uint8_t ending = 0;  ///< verifier::Ending
    std::uint32_t rounds = 0;
    std::uint64_t evidence_bytes = 0;
    std::uint32_t reports = 0;      ///< Tiles that the challenger reported as not served, charged to this dispute.
    std::uint32_t moves = 0;        ///< Moves by reports charged to other cases (contracts 16.1.20).
    std::uint64_t waits_until = 0;  ///< Height to which its clock includes the wait for their answers.
    std::uint64_t solver_due = 0, challenger_due = 0;  ///< Places in the parties' orders of work (contracts 18.2).
    bool operator==(const Dispute&) const = default;
    static auto tie(auto& d) {
        return std::tie(d.id, d.kind, d.state, d.task, d.run, d.segment, d.solver, d.challenger, d.audit,
                        d.claimed_root, d.bond, d.solver_clock, d.challenger_clock, d.turn_height, d.deadline, d.mover,
                        d.opened_height, d.ending, d.rounds, d.evidence_bytes, d.reports, d.moves, d.waits_until,
                        d.solver_due, d.challenger_due);
    }
    static Names names() {
        return {"id",      "kind",         "state",           "task",       "run",
                "segment", "solver",       "challenger",      "audit",      "claimedRoot",
                "bond",    "solverClock",  "challengerClock", "turnHeight", "deadline",
                "mover",   "openedHeight", "ending",          "rounds",     "evidenceBytes",
                "reports", "moves",        "waitsUntil",      "solverDue",  "challengerDue"};
    }
};

enum class ReportKind : std::uint8_t { state = 1, program = 2, data = 3, model = 4, kept = 5, message = 6 };
constexpr ReportKind last_of(ReportKind) { return ReportKind::message; }
enum class ReportState : std::uint8_t { open = 1, answered = 2, failed = 3 };
constexpr ReportState last_of(ReportState) { return ReportState::failed; }

/// A report that a tile is not served. Kind `kept` addresses the keepers of a state, every other kind the run's solver.
struct Report {
    std::uint64_t id = 0;
    ReportKind kind{};
    ReportState state{};
    Address reporter;
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;  ///< Index of the state or data set, or reported_message(); 0 for other kinds.
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
    std::uint64_t deadline = 0;
    U256 fee;
    bool operator==(const Report&) const = default;
    static auto tie(auto& r) {
        return std::tie(r.id, r.kind, r.state, r.reporter, r.task, r.run, r.index, r.tensor, r.tile, r.deadline, r.fee);
    }
    static Names names() {
        return {"id", "kind", "state", "reporter", "task", "run", "index", "tensor", "tile", "deadline", "fee"};
    }
};

enum class RetentionState : std::uint8_t { open = 1, kept = 2, withdrawn = 3 };
constexpr RetentionState last_of(RetentionState) { return RetentionState::withdrawn; }

/// A solver's offer of `fee` to the party that keeps a state.
struct Retention {
    std::uint64_t id = 0;
    RetentionState state{};
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Address solver, keeper;  ///< `keeper` is zero until a verifier attests.
    U256 fee;
    bool operator==(const Retention&) const = default;
    static auto tie(auto& r) { return std::tie(r.id, r.state, r.task, r.run, r.index, r.solver, r.keeper, r.fee); }
    static Names names() { return {"id", "state", "task", "run", "index", "solver", "keeper", "fee"}; }
};

}  // namespace retrace::market
