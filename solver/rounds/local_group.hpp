// SPDX-License-Identifier: MIT
// All members of a training in rounds in one process: the definition of what a group on the market computes.
#pragma once

#include <functional>
#include <optional>

#include "kernels/commit/commitment.hpp"
#include "kernels/plan/mask_table.hpp"
#include "kernels/plan/plan_executor.hpp"
#include "kernels/plan/regions.hpp"

namespace retrace::solver {

/// What a member does in a round.
struct MemberTurn {
    std::uint32_t steps = 0;  ///< Inner steps; 0: it is away, and takes in what it missed when it trains again.
    bool recorded = true;  ///< False: its message reaches nobody. Under masks the others take its masks out of the sum.
    /// The inner steps begin so many rounds before, where the member has not trained since, and at most max_age.
    std::uint32_t age = 0;
    bool merges = true;  ///< False: a message that it merges for its region, if it does, reaches nobody.
};

class LocalGroup {
public:
    /// The plan passed `check` and has the phase `init`; plan, data sets and pool outlive the group. Members are the runs
    /// 0 to members - 1.
    LocalGroup(const kernels::GroupPlan& plan, std::uint64_t task_seed, std::vector<const kernels::Tensor*> datasets,
               std::uint32_t members, kernels::ThreadPool& pool, kernels::Backend backend = kernels::Backend::cpu);

    /// The metrics of each inner step of a round.
    using Metrics = std::vector<std::vector<kernels::Metric>>;
    /// A group that begins at round `base` with these shared tensors, as all its members had just joined.
    LocalGroup(const kernels::GroupPlan& plan, std::uint64_t task_seed, std::vector<const kernels::Tensor*> datasets,
               std::uint32_t members, kernels::ThreadPool& pool, std::uint64_t base,
               const std::vector<const kernels::Tensor*>& shared);

    /// Messages may be so old; their weights depend on it. 0 if it is not called.
    void set_max_age(std::uint32_t rounds) { max_age_ = rounds; }
    /// States of so many rounds are kept to go back to (contracts 21.14). 0 if it is not called.
    void set_ahead(std::uint32_t rounds) { ahead_ = rounds; }
    /// A member's message of round `first`, at most as many rounds ago as set_ahead says, is undone with all that followed:
    /// the record of that round loses it, those after it are empty, and so is that of the round that is open now. The others
    /// go on from what they had when they had sent their messages of that round, or before. The member trains no more.
    void roll_back(std::uint32_t member, std::uint64_t first);
    /// Messages are merged in so many regions (plan/SPEC.md 2.7), 1 to kRegionsMax; the plan has the phases for it. A group
    /// of such a plan calls this before its first round, and each `play` makes two records.
    void set_regions(std::uint32_t regions);
    /// A member trains on data of its own, in place of the group's, which outlives the group too.
    void set_data(std::uint32_t member, std::vector<const kernels::Tensor*> datasets);

    /// Plays a round: the members take in the last record, train one after the other, and their messages become its
    /// record, in order of members. Returns the metrics by member.
    std::vector<Metrics> play(const std::vector<MemberTurn>& turns);
    /// A member takes in all records and trains no more; the shared tensors of its state are then the result.
    const kernels::State& catch_up(std::uint32_t member);
    /// A further member begins at the present round, from the shared tensors of a member that has caught up.
    void join(std::uint32_t from);

    /// The number of records; with regions there are two for each round of training.
    std::uint64_t rounds() const noexcept { return first_ + records_.size(); }
    /// The messages of a record: their runs and tensors. `round` is one that was played.
    struct Entry {
        std::uint32_t run = 0, steps = 0, age = 0, weight = 0;
        std::vector<kernels::Tensor> tensors;
        std::uint32_t region = 0, place = 0;  ///< With regions, of all messages: as on the market (contracts 21.20.3).
    };
    const std::vector<Entry>& record(std::uint64_t round) const { return records_[round - first_]; }
    std::uint32_t members() const noexcept { return static_cast<std::uint32_t>(members_.size()); }
    const kernels::State& state(std::uint32_t member) const { return members_[member].state; }
    /// Masks over the member's last message, and in the sum of a record; none without masks.
    const std::vector<kernels::MaskRow>& masks(std::uint32_t member) const { return members_[member].masks; }
    const std::vector<kernels::MaskRow>& masks_of_record(std::uint64_t round) const { return masks_[round - first_]; }
    kernels::StateCommitment commit(std::uint32_t member) const;
    /// Bytes of a member's message in memory.
    std::uint64_t message_bytes() const noexcept;

private:
    /// A state that a member may go back to.
    struct Kept {
        std::uint64_t base = 0;
        std::optional<std::uint64_t> omitted;
        kernels::State state;
    };
    struct Member {
        std::uint32_t run = 0;
        std::uint64_t base = 0;
        std::optional<std::uint64_t> omitted;                           ///< The record that its last message is not in.
        std::optional<std::vector<const kernels::Tensor*>> datasets{};  ///< Empty: the group's.
        bool has_common = false;  ///< Its tensors of `common_` are those that the newest record's `end` left.
        kernels::State state;
        std::vector<Kept> kept{};               ///< By ascending base.
        std::vector<kernels::MaskRow> masks{};  ///< Of the message that it makes.
    };
    void keep(Member& member);
    kernels::SegmentPositions positions(const Member& member, std::uint64_t base, std::uint32_t steps) const;
    Metrics run(Member& member, const kernels::SegmentPositions& segment, std::uint64_t first, std::uint64_t last);
    /// Runs the positions of a segment before its inner steps. begin, add and end write the same bits for all members
    /// with one base (plan/SPEC.md 1.3.6), so a member that lacks only the newest record copies them from one that has
    /// just taken it in, if there is one.
    void take_in(Member& member, const kernels::SegmentPositions& segment);
    kernels::Message message(const Member& member, const kernels::SegmentSpan& span, const kernels::Position& at);
    /// The masks that a member puts over its message in the open round, if these runs dealt shares; as on the market
    /// (market 15.1), but with seeds that anybody can compute.
    std::vector<kernels::MaskRow> masks_of(std::uint32_t run, const std::vector<std::uint32_t>& dealt) const;
    /// Those in the sum of the messages of `recorded`.
    std::vector<kernels::MaskRow> masks_of_sum(const std::vector<std::uint32_t>& recorded,
                                               const std::vector<std::uint32_t>& dealt) const;
    kernels::MaskRow pair_mask(std::uint32_t run, std::uint32_t other) const;
    /// The entries of a record as a segment of the member reads them.
    struct Read {
        std::vector<const Entry*> entries;
        std::uint32_t total = 0;
    };
    Read read(const Member& member, std::uint64_t record, const kernels::SegmentSpan& span) const;
    kernels::SegmentSpan span_of(const Member& member, std::uint64_t base, std::uint32_t steps) const {
        const auto own = static_cast<std::uint32_t>(steps == 0 ? 0 : member.masks.size());
        return {member.base, base, steps, member.omitted, own, regions_ != 0};
    }
    Entry entry_of(const Member& member, std::uint32_t steps, std::uint32_t age, std::uint32_t weight) const;
    /// Places the messages of the newest record in regions. The members are divided once in kernels::kRegionRounds, in an
    /// order that anybody can compute; one that joins later is the last.
    void divide();
    /// The record of merged messages after a round of training.
    void merge(const std::vector<MemberTurn>& turns);

    const kernels::GroupPlan& plan_;
    Hash32 root_;
    std::uint64_t seed_;
    std::vector<const kernels::Tensor*> datasets_;
    kernels::ThreadPool& pool_;
    kernels::PlanExecutor executor_;
    std::vector<std::uint32_t> common_;  ///< State tensors that begin, add or end write.
    std::vector<Member> members_;
    std::uint32_t max_age_ = 0, ahead_ = 0, regions_ = 0;
    std::uint64_t first_ = 0;  ///< The round of the first record.
    std::vector<std::vector<Entry>> records_;
    std::vector<std::uint32_t> order_;                  ///< Of the members, with regions,
    std::uint32_t divided_ = 0;                         ///< and in how many they are divided now; 0: not yet.
    std::vector<std::vector<kernels::MaskRow>> masks_;  ///< In the sum of each record.
    kernels::Tensor table_;                             ///< Of the masks that a position reads.
};

}  // namespace retrace::solver
