// SPDX-License-Identifier: MIT
// Records of group tasks: one training by many members in rounds (SPEC 11). A member is a run of the task; its states,
// segments, audits and disputes have the records of types.hpp. The zero value of every enum is invalid.
#pragma once

#include "market/auction.hpp"
#include "market/masks/mask_term.hpp"
#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::market {

inline constexpr std::size_t kGroupBiddersMax = 512;    ///< Bidders of the auction of a group.
inline constexpr std::size_t kMembersMax = 255;         ///< TaskSpec::replicas of a group task is at most this.
inline constexpr std::size_t kPlanPhases = 8;           ///< kernels::Phase up to `press`;
inline constexpr std::size_t kMaskedPlanPhases = 10;    ///< with masks `unmask` and `mask` too;
inline constexpr std::size_t kRegionalPlanPhases = 12;  ///< with regions those from `merge_begin` on, and no masks.
inline constexpr std::size_t kSharedTensorsMax = 16;    ///< Their roots are recorded at each opening.
inline constexpr std::size_t kPublicTensorsMax = 8;     ///< Tensors of a message.
inline constexpr std::uint32_t kGroupRunsMax = 1024;    ///< Runs that a group ever has.
inline constexpr std::uint32_t kRoundsMax = 1u << 20;
inline constexpr std::uint32_t kKeepRoundsMax = 256;
inline constexpr std::size_t kPrivateSetsMax = 4;   ///< Data sets that a member of a private group brings.
inline constexpr std::size_t kAdmittedMax = 512;    ///< Accounts that the requester of a private group admits.
inline constexpr std::size_t kConsentedMax = 16;    ///< Accounts to which one member consents as its auditors.
inline constexpr std::size_t kNamedInCallMax = 64;  ///< Accounts that one call admits.

/// A phase of the plan, as plan roots commit to it (kernels/plan/SPEC.md 1.2).
struct PhaseRoot {
    std::uint8_t phase = 0;  ///< kernels::Phase
    bool member_seed = false;
    Hash32 program_root;
    bool operator==(const PhaseRoot&) const = default;
    static auto tie(auto& p) { return std::tie(p.phase, p.member_seed, p.program_root); }
    static Names names() { return {"phase", "memberSeed", "programRoot"}; }
};

/// The terms of a group beside its TaskSpec, which it reads as follows: program_root is the plan's root, program_bytes
/// the size of the plan's file, init_root the program of the phase `init`, replicas the most members, steps =
/// rounds + 1 and interval = 1, so that a member has at most one segment for each round and one that takes in the last
/// records. The price ceiling is that of a segment with steps_max inner steps.
struct GroupSpec {
    std::uint32_t rounds = 0;
    std::uint32_t steps_max = 0;  ///< H_max, the most inner steps of a member in a round.
    std::uint32_t shared = 0;
    std::vector<std::uint32_t> public_tensors;
    std::vector<PhaseRoot> phases;
    std::uint8_t least = 0;           ///< The group begins with at least so many members.
    std::uint64_t round_blocks = 0;   ///< Longest time to train in a round,
    std::uint64_t grace_blocks = 0;   ///< time that is left to the others once 80 % have committed,
    std::uint64_t fetch_blocks = 0;   ///< to fetch the messages and to commit to what came,
    std::uint64_t reveal_blocks = 0;  ///< and to reveal it.
    std::uint32_t absence_limit = 0;  ///< Rounds without a message after which a member only ends.
    std::uint32_t keep_rounds = 0;    ///< Rounds for which messages are served; most records of one segment.
    std::uint32_t catch_up_max = 0;   ///< Most messages that one segment takes in.
    std::uint8_t mask_bits = 0;       ///< Bits of a value of a message that is sent under masks (15); 0: without masks.
    std::uint64_t mask_blocks = 0;    ///< Time to post keys, to deal shares, to complain, and to unmask, each.
    std::uint32_t max_age = 0;        ///< A message may be of a base so many rounds before the one it is sent in.
    std::uint8_t rollbacks = 0;       ///< Most rollbacks after which a lost run's messages are undone; 0: they stand.
    std::uint32_t ahead = 0;  ///< With rollbacks: a round opens when all messages so many rounds before are final.
    std::uint8_t private_sets = 0;  ///< Data sets that each member brings and nobody else has; 0: those of the task.
    std::uint8_t regions = 0;  ///< Messages of every second round are merged in so many regions; 0: none is merged.
    std::uint64_t merge_blocks = 0;  ///< With regions: longest time to merge them.

    bool operator==(const GroupSpec&) const = default;
    static auto tie(auto& g) {
        return std::tie(g.rounds, g.steps_max, g.shared, g.public_tensors, g.phases, g.least, g.round_blocks,
                        g.grace_blocks, g.fetch_blocks, g.reveal_blocks, g.absence_limit, g.keep_rounds, g.catch_up_max,
                        g.mask_bits, g.mask_blocks, g.max_age, g.rollbacks, g.ahead, g.private_sets, g.regions,
                        g.merge_blocks);
    }
    static Names names() {
        return {"rounds",      "stepsMax",    "shared",      "publicTensors", "phases",       "least",
                "roundBlocks", "graceBlocks", "fetchBlocks", "revealBlocks",  "absenceLimit", "keepRounds",
                "catchUpMax",  "maskBits",    "maskBlocks",  "maxAge",        "rollbacks",    "ahead",
                "privateSets", "regions",     "mergeBlocks"};
    }
};

enum class GroupPhase : std::uint8_t {
    starting = 1,   ///< Members accept, and commit to their first state.
    training = 2,   ///< Members train and commit their messages.
    spreading = 3,  ///< Members fetch the messages, and commit to which they have.
    revealing = 4,  ///< They reveal it.
    over = 5,       ///< All rounds are closed.
    unmasking = 6,  ///< After revealing, in a group with masks: members reveal shares of what masked the recorded sum.
    settling = 7,   ///< In a group with rollbacks: the round begins when messages of rounds before are final.
};
constexpr GroupPhase last_of(GroupPhase) { return GroupPhase::settling; }
std::string_view slug(GroupPhase phase) noexcept;

struct Group {
    std::uint64_t task = 0;
    GroupPhase phase{};
    std::uint32_t round = 0;               ///< The round that is open; after the last one, the number of rounds.
    std::uint64_t deadline = 0;            ///< Height after which it ends at the latest.
    bool extended = false;                 ///< The time to fetch was given once more.
    std::vector<std::uint32_t> committed;  ///< Runs with a message in this round, in order of commitment,
    std::vector<std::uint32_t> listed;     ///< that committed to what they have,
    std::vector<std::uint32_t> revealed;   ///< and revealed it.
    std::uint32_t committed_before = 0;    ///< Number of runs with a message in the previous round.
    U256 price;                            ///< Of a segment with steps_max inner steps, for all members.
    std::uint32_t senders = 0;  ///< Members that may send a message: they have their first state, do not leave.
    bool operator==(const Group&) const = default;
    static auto tie(auto& g) {
        return std::tie(g.task, g.phase, g.round, g.deadline, g.extended, g.committed, g.listed, g.revealed,
                        g.committed_before, g.price, g.senders);
    }
    static Names names() {
        return {"task",   "phase",    "round",           "deadline", "extended", "committed",
                "listed", "revealed", "committedBefore", "price",    "senders"};
    }
};

/// How a group with regions is divided.
struct Division {
    std::uint32_t epoch = 0;    ///< Of the rounds for which it was drawn: their numbers over kernels::kRegionRounds.
    std::uint32_t regions = 0;  ///< The i-th run is of region i mod `regions`; 0: it was not drawn yet.
    std::vector<std::uint32_t> order;  ///< Runs as a beacon has put them, then those that sent later.
    std::uint64_t due = 0;             ///< Height from which it is drawn anew, in the open round; 0: it is not.
    bool operator==(const Division&) const = default;
    static auto tie(auto& d) { return std::tie(d.epoch, d.regions, d.order, d.due); }
    static Names names() { return {"epoch", "regions", "order", "due"}; }
};

/// A message that all members take in.
struct RoundEntry {
    std::uint32_t run = 0;
    std::uint32_t steps = 0;   ///< Inner steps.
    std::uint32_t age = 0;     ///< Rounds from the base of its inner steps to the one that it was sent in.
    std::uint32_t weight = 0;  ///< 11.5
    std::uint32_t region = 0;  ///< With regions: the one that the message is of, or was merged for.
    /// With regions: the run's place among those that may merge its region's messages; kNoPlace: it may not.
    std::uint32_t place = 0;
    static constexpr std::uint32_t kNoPlace = UINT32_MAX;
    bool operator==(const RoundEntry&) const = default;
    static auto tie(auto& e) { return std::tie(e.run, e.steps, e.age, e.weight, e.region, e.place); }
    static Names names() { return {"run", "steps", "age", "weight", "region", "place"}; }
};
/// The record of a closed round: what `add` takes in, in this order.
struct Round {
    std::uint32_t index = 0;
    std::uint64_t height = 0;          ///< Height at which it closed.
    std::uint32_t committed = 0;       ///< Number of messages that were committed.
    std::vector<RoundEntry> entries;   ///< Recorded messages, by ascending run.
    std::uint32_t total = 0;           ///< Sum of their weights.
    std::vector<std::uint32_t> holds;  ///< Runs that revealed what they have, ascending.
    std::vector<MaskTerm> masks{};     ///< In the sum of the messages; none without masks or if they were lost.
    Hash32 terms;                      ///< Root of their table (kernels::mask_table), zero if there are none.
    bool operator==(const Round&) const = default;
    static auto tie(auto& r) {
        return std::tie(r.index, r.height, r.committed, r.entries, r.total, r.holds, r.masks, r.terms);
    }
    static Names names() { return {"index", "height", "committed", "entries", "total", "holds", "masks", "terms"}; }
};

/// The message of a run in a round.
struct RoundMessage {
    std::uint64_t segment = 0;  ///< Segment at whose end it is.
    std::uint32_t steps = 0;
    std::vector<Hash32> tensors;    ///< Roots of the public tensors, as in the state at the end of the segment.
    bool recorded = false;          ///< Set when the round closes.
    std::uint32_t age = 0;          ///< As RoundEntry::age.
    bool unpaid = false;            ///< Recorded, but its run did not help to unmask the sum, or did not merge.
    bool standby = false;           ///< Merged, and paid though that of a merger before it is recorded.
    Hash32 mask_root{};             ///< In a group with masks, root of the table of those over the message,
    Hash32 dealers{};               ///< dealers_digest of the keys that they follow from,
    std::vector<MaskTerm> masks{};  ///< and they themselves, once the state at the end of the segment is open.
    bool operator==(const RoundMessage&) const = default;
    static auto tie(auto& m) {
        return std::tie(m.segment, m.steps, m.tensors, m.recorded, m.age, m.unpaid, m.standby, m.mask_root, m.dealers,
                        m.masks);
    }
    static Names names() {
        return {"segment", "steps", "tensors", "recorded", "age", "unpaid", "standby", "maskRoot", "dealers", "masks"};
    }
};

/// What a run states to have of a round: bit i stands for the i-th run of Group::committed. `bitmap` is empty until it
/// is revealed. Removed when the round closes.
struct Holding {
    Hash32 commitment;
    Bytes bitmap;
    bool operator==(const Holding&) const = default;
    static auto tie(auto& h) { return std::tie(h.commitment, h.bitmap); }
    static Names names() { return {"commitment", "bitmap"}; }
};

/// A segment of a member: kernels::SegmentSpan.
struct MemberSegment {
    static constexpr std::uint64_t kNone = UINT64_MAX;
    std::uint32_t from = 0, base = 0, steps = 0;
    std::uint64_t omitted = kNone;  ///< Record in which the member's last message should be and is not.
    std::uint64_t positions = 0;
    std::vector<Hash32> shared;  ///< Roots of the shared tensors at its end; empty until that state is opened.
    std::uint32_t age = 0;       ///< Its message was sent in round base + age.
    std::uint32_t masks = 0;     ///< Number of masks over it.
    bool operator==(const MemberSegment&) const = default;
    static auto tie(auto& s) {
        return std::tie(s.from, s.base, s.steps, s.omitted, s.positions, s.shared, s.age, s.masks);
    }
    static Names names() { return {"from", "base", "steps", "omitted", "positions", "shared", "age", "masks"}; }
};

/// What a group task knows about a run beside its Run.
struct Member {
    std::uint32_t base = 0;        ///< Base of its newest segment; of its first state before.
    std::uint32_t entered = 0;     ///< Base of its first state: 0, or the round at which it joined,
    std::vector<Hash32> anchor;    ///< then the roots of the shared tensors that it joined with.
    std::uint64_t messages = 0;    ///< Number of rounds in which it sent a message.
    std::uint32_t last_round = 0;  ///< The last of them; valid if `messages` is not 0.
    std::uint32_t absent = 0;      ///< Grows by one with each round without its message, falls by one with each.
    bool leaving = false;          ///< It commits nothing more, and ends when all of its segments are finalised.
    std::vector<Hash32> data;      ///< In a private group, roots of the data sets that it brings, once they are fixed,
    std::vector<Hash32> start;     ///< and of the shared tensors of its state 0, once that is open.
    bool operator==(const Member&) const = default;
    static auto tie(auto& m) {
        return std::tie(m.base, m.entered, m.anchor, m.messages, m.last_round, m.absent, m.leaving, m.data, m.start);
    }
    static Names names() {
        return {"base", "entered", "anchor", "messages", "lastRound", "absent", "leaving", "data", "start"};
    }
};

/// An account whose consent the member has taken back: it may still audit what the member had committed to by then.
struct FormerAuditor {
    ledger::Address account;
    std::uint64_t segments = 0;  ///< Number of segments that the member had.
    bool operator==(const FormerAuditor&) const = default;
    static auto tie(auto& f) { return std::tie(f.account, f.segments); }
    static Names names() { return {"account", "segments"}; }
};
/// To whom a member of a private group consents as auditors of its own data.
struct Consent {
    std::vector<ledger::Address> named;     ///< By the member, ascending,
    std::vector<ledger::Address> accepted;  ///< and those of them that hold its data, ascending.
    std::vector<FormerAuditor> former;      ///< Ascending by account, each in `accepted` before.
    bool operator==(const Consent&) const = default;
    static auto tie(auto& c) { return std::tie(c.named, c.accepted, c.former); }
    static Names names() { return {"named", "accepted", "former"}; }
};

/// What the index of a report names, if the report is about a message (ReportKind::message).
struct ReportedMessage {
    std::uint64_t round = 0;
    std::uint32_t author = 0;  ///< Run that sent it.
};
constexpr ReportedMessage reported_message(std::uint64_t index) {
    return {index >> 16, static_cast<std::uint32_t>(index & 0xffff)};
}

/// SHA-256("retrace/holding/1" ‖ task u64 ‖ run u32 ‖ round u32 ‖ salt 32 ‖ bitmap): what a member states to have, before
/// the others do.
Hash32 holding_commitment(std::uint64_t task, std::uint32_t run, std::uint32_t round, const Hash32& salt, View bitmap);
/// SHA-256("retrace/shared/1" ‖ count u32 ‖ roots): stands for the shared tensors of a state.
Hash32 shared_digest(const std::vector<Hash32>& roots);
/// What a member that joins at state `index` of another one brings (11.4): the fees of its two audits that no draw
/// decides (5.3). Nothing at state 0, before the first round.
U256 join_fee(const Params& params, const TaskSpec& spec, std::uint64_t index);
/// Pay of a segment with `steps` of at most `steps_max` inner steps: price · steps / steps_max, rounded down.
U256 segment_pay(const U256& price, std::uint32_t steps, std::uint32_t steps_max);
/// Pay of a merged message: half of the price of a segment, rounded down (11.5).
U256 merge_pay(const U256& price);

/// What a round of the ledger is to a member of a full group on average, in parts of `whole`: prices of segments that it
/// earns, segments that it commits to, and rounds in which it trains. With regions two of each region merge in every second
/// round. 11.5
struct MeanRound {
    std::uint64_t paid = 1, committed = 1, trained = 1, whole = 1;
    bool operator==(const MeanRound&) const = default;
};
MeanRound mean_round(const TaskSpec& spec, const GroupSpec* group);

/// Most segments of a run: those of the spec, and in a private group twice as many, since a member takes in records and
/// trains in segments of their own (contracts 21.13.4).
std::uint64_t most_segments(const TaskSpec& spec, const GroupSpec* group);

/// Most blocks that a round takes of which nothing is doubled, with regions also that of its merged messages.
/// See contracts 21.10.21.
std::uint64_t longest_round(const GroupSpec& terms);

/// The seats of a group, sold in one auction.
struct Seats {
    std::vector<std::size_t> offers;  ///< Winning offers, in the order of score; empty: too few bids.
    U256 price;                       ///< What each winner is paid for a segment.
};
/// The `count` fit offers with the lowest scores win, ties by address; fewer, if there are at least `least`. All are paid
/// the score of the first loser, at least the highest winning price and at most `ceiling`. SPEC 11.3.
Seats clear_seats(const std::vector<Offer>& offers, std::size_t count, std::size_t least, const U256& ceiling);

}  // namespace retrace::market
