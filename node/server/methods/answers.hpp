// SPDX-License-Identifier: MIT
// Results of the retrace_ methods about the market. Each is a record: its JSON and its schema are generated from `tie`
// and `names` (record_json.hpp).
#pragma once

#include "market/groups.hpp"
#include "market/reservations.hpp"
#include "market/rollbacks.hpp"
#include "node/server/methods/record_json.hpp"

namespace retrace::node::rpc {

using ledger::Address;
using ledger::U256;
using market::Names;

/// A page of a list, newest first. `next` is the `before` parameter for the next page; null if there are no older
/// items.
template <class T>
struct Page {
    std::vector<T> items;
    std::optional<std::uint64_t> next;
    static auto tie(auto& p) { return std::tie(p.items, p.next); }
    static Names names() { return {"items", "next"}; }
};

/// An entry of a list of tasks.
struct TaskSummary {
    std::uint64_t id = 0;
    std::string name;
    market::TaskState state{};
    Address requester;
    std::uint64_t posted_height = 0;
    std::uint64_t segments = 0;
    std::uint64_t paid = 0;  ///< Number of segments paid.
    U256 price_ceiling;      ///< For each segment.
    static auto tie(auto& t) {
        return std::tie(t.id, t.name, t.state, t.requester, t.posted_height, t.segments, t.paid, t.price_ceiling);
    }
    static Names names() {
        return {"id", "name", "state", "requester", "postedHeight", "segments", "paid", "priceCeiling"};
    }
};

struct TaskAnswer {
    market::Task task;
    market::TaskSpec spec;
    std::uint64_t segments = 0;
    std::uint64_t committed = 0;  ///< Segments whose end the newest run has committed.
    std::uint64_t finalised = 0;  ///< Segments that are final.
    std::uint64_t paid = 0;       ///< Segments that are paid.
    std::vector<market::Run> runs;
    static auto tie(auto& t) { return std::tie(t.task, t.spec, t.segments, t.committed, t.finalised, t.paid, t.runs); }
    static Names names() { return {"task", "spec", "segments", "committed", "clear", "paid", "runs"}; }
};

struct SegmentAnswer {
    std::uint64_t index = 0;
    market::Segment segment;
    std::optional<market::Checkpoint> start, end;  ///< States `index` and `index` + 1.
    std::optional<market::MemberSegment> member;   ///< Of a training in rounds: what the segment takes in.
    bool undone = false;                           ///< By a rollback.
    static auto tie(auto& s) { return std::tie(s.index, s.segment, s.start, s.end, s.member, s.undone); }
    static Names names() { return {"index", "segment", "start", "end", "member", "undone"}; }
};

struct MemberAnswer {
    std::uint32_t run = 0;
    Address solver;
    market::RunState state{};
    U256 earned;
    market::Member member;
    static auto tie(auto& m) { return std::tie(m.run, m.solver, m.state, m.earned, m.member); }
    static Names names() { return {"run", "solver", "state", "earned", "member"}; }
};

struct GroupAnswer {
    market::GroupSpec spec;
    market::Group group;
    std::vector<MemberAnswer> members;
    std::vector<market::Rollback> rollbacks;  ///< In the order in which they happened.
    static auto tie(auto& g) { return std::tie(g.spec, g.group, g.members, g.rollbacks); }
    static Names names() { return {"spec", "group", "members", "rollbacks"}; }
};

struct RoundMessageAnswer {
    std::uint32_t run = 0;
    market::RoundMessage message;
    std::vector<std::uint32_t> listed_by, not_listed_by;  ///< Of the runs that revealed what they have.
    static auto tie(auto& m) { return std::tie(m.run, m.message, m.listed_by, m.not_listed_by); }
    static Names names() { return {"run", "message", "listedBy", "notListedBy"}; }
};

struct RoundAnswer {
    std::optional<market::Round> record;       ///< Null while the round is open.
    std::vector<RoundMessageAnswer> messages;  ///< In the order of their commitment.
    static auto tie(auto& r) { return std::tie(r.record, r.messages); }
    static Names names() { return {"record", "messages"}; }
};

struct BidAnswer {
    Address bidder;
    market::Bid bid;
    static auto tie(auto& b) { return std::tie(b.bidder, b.bid); }
    static Names names() { return {"bidder", "bid"}; }
};

/// A rule that refuses a call.
struct Obstacle {
    std::uint32_t code = 0;  ///< contracts::CallStatus
    std::string slug, sentence;
    static auto tie(auto& o) { return std::tie(o.code, o.slug, o.sentence); }
    static Names names() { return {"code", "slug", "sentence"}; }
};

struct SolverExplanation {
    Address solver;
    bool bid = false;  ///< Whether the solver has a bid in this auction.
    std::vector<Obstacle> obstacles;
    std::string why;
    static auto tie(auto& s) { return std::tie(s.solver, s.bid, s.obstacles, s.why); }
    static Names names() { return {"solver", "bid", "obstacles", "why"}; }
};

struct BidsExplanation {
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    market::TaskState state{};
    bool closed = false;                ///< The auction of this round has ended.
    std::uint64_t examined_height = 0;  ///< Block whose state was read; the last block of an ended auction.
    std::uint64_t bid_begin = 0;        ///< Bids are taken from this block on, below `bid_end`.
    std::uint64_t bid_end = 0, reveal_end = 0;
    U256 price_ceiling;
    std::optional<U256> stake_floor;          ///< Stake that a bid locks; null: no stake is enough.
    std::uint32_t auctions_left = 0;          ///< That may follow ones without winners.
    std::optional<U256> next_ceiling;         ///< Of the auction that follows this one without winners; null: none.
    std::optional<std::uint64_t> next_begin;  ///< The block from which it would take bids.
    std::vector<contracts::views::ExplainedBid> bids;
    std::optional<SolverExplanation> solver;
    static auto tie(auto& b) {
        return std::tie(b.task, b.round, b.state, b.closed, b.examined_height, b.bid_begin, b.bid_end, b.reveal_end,
                        b.price_ceiling, b.stake_floor, b.auctions_left, b.next_ceiling, b.next_begin, b.bids,
                        b.solver);
    }
    static Names names() {
        return {"task",         "round",       "state",     "closed",       "examinedHeight",
                "bidBegin",     "bidEnd",      "revealEnd", "priceCeiling", "stakeFloor",
                "auctionsLeft", "nextCeiling", "nextBegin", "bids",         "solver"};
    }
};

/// One event of a task, decoded.
struct TaskEventAnswer {
    std::uint64_t task = 0;
    std::uint64_t height = 0;
    Hash32 block_hash, transaction_hash;  ///< Both are the block's hash for events of no transaction.
    std::uint64_t log_index = 0;
    std::string event;       ///< Name in the ABI, e.g. "CheckpointCommitted".
    json::object arguments;  ///< Named as in the ABI; values as in records.
    static auto tie(auto& e) {
        return std::tie(e.task, e.height, e.block_hash, e.transaction_hash, e.log_index, e.event, e.arguments);
    }
    static Names names() {
        return {"task", "height", "blockHash", "transactionHash", "logIndex", "event", "arguments"};
    }
};

/// How far an open dispute is narrowed. A number is valid once the phases that find it are over (verifier 3).
struct DisputePosition {
    std::string phase;
    std::uint64_t first_step = 0, last_step = 0;  ///< Of the disputed segment.
    /// What the phase narrows: the steps or links in a search between the agreed one and the disputed one, the leaves
    /// below the disputed node in a descent. Both 0 in the other phases.
    std::uint64_t low = 0, high = 0;
    std::uint64_t step = 0;
    std::uint32_t state_tensor = 0, op = 0;
    std::string op_name;                     ///< "matmul"; empty before open_tensor is over.
    std::vector<std::uint64_t> output_dims;  ///< Of the op's output; empty before open_tensor is over.
    std::uint64_t tile = 0, link = 0, element = 0;
    std::uint32_t rounds = 0;
    std::uint64_t evidence_bytes = 0;
    static auto tie(auto& p) {
        return std::tie(p.phase, p.first_step, p.last_step, p.low, p.high, p.step, p.state_tensor, p.op, p.op_name,
                        p.output_dims, p.tile, p.link, p.element, p.rounds, p.evidence_bytes);
    }
    static Names names() {
        return {"phase",  "firstStep",  "lastStep", "low",  "high",    "step",   "stateTensor",  "op",
                "opName", "outputDims", "tile",     "link", "element", "rounds", "evidenceBytes"};
    }
};

struct DisputeAnswer {
    market::Dispute dispute;
    std::optional<std::string> phase;         ///< Phase of the dispute game while it is open.
    std::optional<DisputePosition> position;  ///< Likewise.
    std::optional<TaskEventAnswer> decision;  ///< The event that closed it, if its block is kept.
    std::string why;                          ///< A sentence on its progress or its outcome.
    static auto tie(auto& d) { return std::tie(d.dispute, d.phase, d.position, d.decision, d.why); }
    static Names names() { return {"dispute", "phase", "position", "decision", "why"}; }
};

struct RunName {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    static auto tie(auto& r) { return std::tie(r.task, r.run); }
    static Names names() { return {"task", "run"}; }
};

/// Everything that the chain stores about one address.
struct PartyAnswer {
    Address address;
    std::uint64_t nonce = 0;
    U256 balance;
    market::Stake stake;
    std::optional<market::SolverInfo> solver;
    std::optional<market::VerifierInfo> verifier;
    std::optional<market::Challenge> challenge;  ///< The solver's newest measurement, open or over.
    std::vector<RunName> open_runs;
    std::vector<std::uint64_t> open_audits, open_disputes;
    static auto tie(auto& p) {
        return std::tie(p.address, p.nonce, p.balance, p.stake, p.solver, p.verifier, p.challenge, p.open_runs,
                        p.open_audits, p.open_disputes);
    }
    static Names names() {
        return {"address",  "nonce",     "balance",  "stake",      "solver",
                "verifier", "challenge", "openRuns", "openAudits", "openDisputes"};
    }
};

struct VerifierAnswer {
    Address verifier;
    market::VerifierInfo info;
    market::Stake stake;
    static auto tie(auto& v) { return std::tie(v.verifier, v.info, v.stake); }
    static Names names() { return {"verifier", "info", "stake"}; }
};

/// A solver on the chain's list, which has 1,024 places.
struct SolverAnswer {
    Address solver;
    market::SolverInfo info;
    market::Stake stake;
    std::uint64_t runs = 0;  ///< Open ones.
    static auto tie(auto& s) { return std::tie(s.solver, s.info, s.stake, s.runs); }
    static Names names() { return {"solver", "info", "stake", "runs"}; }
};

struct BeaconAnswer {
    std::uint64_t height = 0;
    std::uint64_t epoch = 0;        ///< Epoch of that height.
    std::uint64_t mixed_epoch = 0;  ///< The newest epoch whose value is known.
    Hash32 value;                   ///< The value of `mixed_epoch`.
    std::uint64_t next_mix = 0;     ///< Height at which the next value is mixed.
    static auto tie(auto& b) { return std::tie(b.height, b.epoch, b.mixed_epoch, b.value, b.next_mix); }
    static Names names() { return {"height", "epoch", "mixedEpoch", "value", "nextMix"}; }
};

/// A reservation, what it is for, and what is to be said of it.
struct ReservationAnswer {
    market::Reservation reservation;
    std::optional<market::TaskSpec> spec;  ///< Of one that is offered or accepted.
    std::uint64_t height = 0;              ///< Of the state that was read.
    std::string why, remedy, next;
    std::optional<std::uint64_t> next_height;
    static auto tie(auto& r) {
        return std::tie(r.reservation, r.spec, r.height, r.why, r.remedy, r.next, r.next_height);
    }
    static Names names() { return {"reservation", "spec", "height", "why", "remedy", "next", "nextHeight"}; }
};

/// Explains the outcome of a mined transaction.
struct TxExplanation {
    Hash32 hash;
    std::uint64_t height = 0;
    bool success = false;
    std::optional<Obstacle> refusal;  ///< The contracts' verdict, if they refused.
    std::string why;
    std::vector<TaskEventAnswer> events;
    static auto tie(auto& t) { return std::tie(t.hash, t.height, t.success, t.refusal, t.why, t.events); }
    static Names names() { return {"hash", "height", "success", "refusal", "why", "events"}; }
};

}  // namespace retrace::node::rpc
