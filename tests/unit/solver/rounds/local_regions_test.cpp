// SPDX-License-Identifier: MIT
// A local group whose messages are merged in regions: its bits, mergers that are lost, members that are away.
#include <gtest/gtest.h>

#include <cmath>

#include "solver/rounds/local_group.hpp"
#include "tests/unit/solver/rounds/easy_training.hpp"

namespace retrace::solver {
namespace {

using namespace kernels;

constexpr std::uint32_t kMembers = 8, kRegions = 2;

class LocalRegions : public EasyTraining {
protected:
    LocalRegions() {
        spec_.members = spec_.regions = kRegions;
        plan_ = build_rounds(programs_, training_, spec_).value();
    }
    struct Group : LocalGroup {
        Group(const LocalRegions& of, ThreadPool& pool, Backend backend = Backend::cpu)
            : LocalGroup(of.plan_, 3, {&of.x_, &of.y_}, kMembers, pool, backend) {
            set_regions(kRegions);
        }
    };
    const Tensor& tensor(const State& state, const std::string& name) const {
        const Program& program = plan_.phases.front().program;
        for (std::uint32_t t = 0; t < program.states; ++t)
            if (program.tensors[t].name == name) return state.tensors[t];
        return x_;
    }
    static std::vector<MemberTurn> all() { return std::vector<MemberTurn>(kMembers, MemberTurn{5, true}); }
    std::vector<std::uint32_t> mergers(const LocalGroup& group, std::uint64_t round, std::uint32_t region) const {
        std::vector<std::uint32_t> out;
        for (std::uint32_t place = 0; place < kRegionMergers; ++place)
            for (const LocalGroup::Entry& entry : group.record(round))
                if (entry.region == region && entry.place == place) out.push_back(entry.run);
        return out;
    }
    void expect_shared(LocalGroup& members) {
        for (std::uint32_t i = 0; i < kMembers; ++i) members.catch_up(i);
        for (std::uint32_t i = 1; i < kMembers; ++i)
            for (std::uint32_t t = 0; t < plan_.shared; ++t)
                EXPECT_EQ(members.state(i).tensors[t], members.state(0).tensors[t]) << "member " << i;
    }

    GroupPlan plan_;
};

TEST_F(LocalRegions, ARoundHasAMessageForEachRegion) {
    Group members(*this, pool_);
    members.play(all());
    ASSERT_EQ(members.rounds(), 2u);
    ASSERT_EQ(members.record(0).size(), kMembers);
    ASSERT_EQ(members.record(1).size(), kRegions);
    for (const LocalGroup::Entry& entry : members.record(1)) {
        EXPECT_EQ(entry.weight, 4u * 5u) << "that of four members with five steps";
        EXPECT_EQ(entry.steps, 1u);
    }
    expect_shared(members);
}

TEST_F(LocalRegions, TheGroupLearns) {
    Group members(*this, pool_);
    const auto loss_of = [](const std::vector<LocalGroup::Metrics>& metrics) {
        float sum = 0;
        for (const auto& steps : metrics)
            for (const auto& step : steps) sum += step.at(0).value;
        return sum;
    };
    const float first = loss_of(members.play(all()));
    float last = first;
    for (int round = 0; round < 40; ++round) last = loss_of(members.play(all()));
    EXPECT_LT(last, 0.7f * first);
}

/// The definition: the phases of merging on the messages of the region, beside a state that has merged nothing.
TEST_F(LocalRegions, AMergedMessageIsThatOfThePhasesOfMerging) {
    Group members(*this, pool_);
    members.play(all());
    PlanExecutor executor(plan_, pool_);
    for (std::uint32_t region = 0; region < kRegions; ++region) {
        std::vector<const LocalGroup::Entry*> merged;
        std::uint32_t total = 0;
        for (const LocalGroup::Entry& entry : members.record(0))
            if (entry.region == region) merged.push_back(&entry), total += entry.weight;
        State state = executor.init(3);
        const std::vector<std::uint32_t> counts{static_cast<std::uint32_t>(merged.size())};
        const auto segment = SegmentPositions::make({0, 1, 1, {}, 0, true}, counts, plan_.steps_max).value();
        executor.run(state, segment, 0, segment.count(), {3, 0, {}}, [&](const Position& at) {
            const LocalGroup::Entry& entry = *merged[at.message];
            Message out{{entry.weight, total, 0, entry.steps}, {}};
            for (const Tensor& tensor : entry.tensors) out.tensors.push_back(&tensor);
            return out;
        });
        const auto run = mergers(members, 0, region).at(0);
        const auto entry = std::ranges::find(members.record(1), run, &LocalGroup::Entry::run);
        ASSERT_NE(entry, members.record(1).end());
        for (std::size_t i = 0; i < plan_.public_tensors.size(); ++i)
            EXPECT_EQ(entry->tensors[i], state.tensors[plan_.public_tensors[i]]);
        EXPECT_NE(entry->tensors[0], merged[0]->tensors[0]) << "it is not one of the messages";
    }
}

TEST_F(LocalRegions, TheSecondMergerTakesOver) {
    Group members(*this, pool_), other(*this, pool_);
    members.play(all());
    other.play(all());
    const auto of_region = mergers(members, 0, 0);
    auto turns = all();
    turns[of_region[0]].merges = false;
    members.play(turns);
    other.play(all());
    ASSERT_EQ(members.record(3).size(), kRegions);
    EXPECT_NE(std::ranges::find(members.record(3), of_region[1], &LocalGroup::Entry::run), members.record(3).end());
    // Both have merged the same messages from the first round on.
    const auto tensors_of = [](const LocalGroup& group, std::uint32_t run) {
        return std::ranges::find(group.record(3), run, &LocalGroup::Entry::run)->tensors;
    };
    EXPECT_EQ(tensors_of(members, of_region[1]), tensors_of(other, of_region[0])) << "so nothing is lost";
    expect_shared(members);
}

TEST_F(LocalRegions, WhatNobodyMergedComesBackOnce) {
    Group members(*this, pool_);
    auto turns = all();
    Group before(*this, pool_);
    before.play(all());
    const auto lost = mergers(before, 0, 0);  // As in the other group, which has the same seed.
    for (const std::uint32_t run : lost) turns[run].merges = false;
    members.play(turns);
    ASSERT_EQ(members.record(1).size(), kRegions - 1);
    const Tensor sum = tensor(members.state(lost[0]), "rounds.merge_sum");
    expect_shared(members);
    const auto distance = [&](std::uint32_t run) {
        const Tensor& kept = tensor(members.state(run), "rounds.merge_residual");
        float most = 0;
        for (std::size_t i = 0; i < sum.data.size() / 4; ++i)
            most = std::max(most, std::fabs(kept.f32()[i] - sum.f32()[i]));
        return most;
    };
    EXPECT_LT(distance(lost[0]), 1e-6f) << "all of it";
    EXPECT_GT(distance(lost[1]), 1e-3f) << "the other one keeps the rest only";
    members.play(all());
    EXPECT_EQ(members.record(3).size(), kRegions);
    expect_shared(members);
}

TEST_F(LocalRegions, MembersThatAreAwayOrNotRecordedCatchUp) {
    Group members(*this, pool_);
    members.play(all());
    auto turns = all();
    for (int round = 0; round < 3; ++round) {
        turns[2] = {0, true};
        turns[5] = {3, false};
        members.play(turns);
        for (const LocalGroup::Entry& entry : members.record(members.rounds() - 2)) EXPECT_NE(entry.run, 5u);
    }
    members.play(std::vector<MemberTurn>(kMembers, MemberTurn{0, true}));
    EXPECT_TRUE(members.record(members.rounds() - 1).empty()) << "nothing to merge";
    members.play(all());
    expect_shared(members);
}

TEST_F(LocalRegions, NoBackendOrThreadCountChangesABit) {
    ThreadPool one(1);
    Group members(*this, pool_), other(*this, one), scalar(*this, one, Backend::reference);
    for (int round = 0; round < 3; ++round)
        for (Group* group : {&members, &other, &scalar}) group->play(all());
    for (std::uint32_t i = 0; i < kMembers; ++i) {
        EXPECT_EQ(members.catch_up(i), other.catch_up(i));
        EXPECT_EQ(members.state(i), scalar.catch_up(i));
    }
}

TEST_F(LocalRegions, DenseAndMaskedUpdatesAreNotMerged) {
    for (const UpdateKind kind : {UpdateKind::dense, UpdateKind::masked}) {
        spec_.update = kind;
        const auto refused = build_rounds(programs_, training_, spec_);
        ASSERT_FALSE(refused.has_value());
        EXPECT_NE(refused.error().message.find("dense updates and those under masks"), std::string::npos);
    }
}

}  // namespace
}  // namespace retrace::solver
