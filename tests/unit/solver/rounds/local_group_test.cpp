// SPDX-License-Identifier: MIT
// A group trains an easy task: its bits, members that are away, messages that are lost, members that join, messages
// that are no numbers.
#include "solver/rounds/local_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/builder/optimizer.hpp"
#include "tests/unit/solver/rounds/easy_training.hpp"

namespace retrace::solver {
namespace {

using namespace kernels;
using ::testing::HasSubstr;

class Rounds : public EasyTraining {
protected:
    Rounds() {
        spec_.update = UpdateKind::dense;
        spec_.members = 4;
    }
    GroupPlan plan() const { return build_rounds(programs_, training_, spec_).value(); }
    LocalGroup group(const GroupPlan& plan, std::uint32_t members, Backend backend = Backend::cpu) {
        return LocalGroup(plan, 3, {&x_, &y_}, members, pool_, backend);
    }
    /// Loss over all samples with the parameters that `state` of the plan has.
    float loss(const GroupPlan& plan, const State& state) {
        State model;
        const Program& of_plan = plan.phases.front().program;
        for (std::uint32_t t = 0; t < programs_.eval.states; ++t) {
            const TensorRecord& wanted = programs_.eval.tensors[t];
            model.tensors.push_back(zeros(wanted.dtype, wanted.dims));  // Moments that the plan does not keep.
            for (std::uint32_t k = 0; k < of_plan.states; ++k)
                if (of_plan.tensors[k].name == wanted.name) model.tensors.back() = state.tensors[k];
        }
        Executor executor(programs_.eval, pool_);
        for (const Metric& metric : executor.step(model, {0, {&x_, &y_}}))
            if (metric.name == "loss") return metric.value;
        return NAN;
    }
    static std::vector<MemberTurn> all(std::uint32_t members, std::uint32_t steps) {
        return std::vector<MemberTurn>(members, MemberTurn{steps, true});
    }
};

TEST_F(Rounds, AGroupLearns) {
    const GroupPlan made = plan();
    LocalGroup members = group(made, 4);
    const float before = loss(made, members.state(0));
    for (int round = 0; round < 30; ++round) members.play(all(4, 5));
    for (std::uint32_t i = 0; i < 4; ++i) members.catch_up(i);
    const float after = loss(made, members.state(0));
    EXPECT_GT(before, 0.6f);
    EXPECT_LT(after, 0.3f);
    for (std::uint32_t i = 1; i < 4; ++i) {
        for (std::uint32_t t = 0; t < made.shared; ++t)
            EXPECT_EQ(members.state(i).tensors[t], members.state(0).tensors[t]) << "member " << i << ", tensor " << t;
        EXPECT_EQ(loss(made, members.state(i)), after) << "each has the shared model";
    }
}

TEST_F(Rounds, NoBackendOrThreadCountChangesABit) {
    const GroupPlan made = plan();
    std::vector<Hash32> roots;
    for (const Backend backend : {Backend::cpu, Backend::reference}) {
        LocalGroup members = group(made, 2, backend);
        for (int round = 0; round < 2; ++round) members.play(all(2, 2));
        members.catch_up(1);
        roots.push_back(members.commit(1).root);
    }
    ThreadPool one(1);
    LocalGroup members(made, 3, {&x_, &y_}, 2, one);
    for (int round = 0; round < 2; ++round) members.play(all(2, 2));
    members.catch_up(1);
    roots.push_back(members.commit(1).root);
    EXPECT_EQ(roots[0], roots[1]);
    EXPECT_EQ(roots[0], roots[2]);
}

TEST_F(Rounds, OneMemberOfDenseUpdatesTrainsAsIfAlone) {
    // With outer rate 1 and one member, a round takes over the member's parameters, but for the rounding of differences.
    const GroupPlan made = plan();
    LocalGroup members = group(made, 1);
    for (int round = 0; round < 20; ++round) members.play(all(1, 5));
    members.catch_up(0);
    State alone = run_initialiser(programs_.init, 3, pool_);
    Executor executor(programs_.train, pool_);
    for (int step = 0; step < 100; ++step) executor.step(alone, {member_seed(3, 0), {&x_, &y_}});
    Executor measure(programs_.eval, pool_);
    alone.step = 0;
    const float wanted = measure.step(alone, {0, {&x_, &y_}})[0].value;
    EXPECT_NEAR(loss(made, members.state(0)), wanted, 0.02f);
}

TEST_F(Rounds, AMemberThatWasAwayTakesInWhatItMissed) {
    const GroupPlan made = plan();
    LocalGroup members = group(made, 3);
    members.play(all(3, 3));
    members.play({{3, true}, {0, true}, {2, true}});
    members.play({{3, true}, {0, true}, {5, false}});
    members.play({{0, true}, {0, true}, {0, true}});  // An empty record.
    members.play({{3, true}, {1, true}, {1, true}});
    for (std::uint32_t i = 0; i < 3; ++i) members.catch_up(i);
    for (std::uint32_t i = 1; i < 3; ++i)
        for (std::uint32_t t = 0; t < made.shared; ++t)
            EXPECT_EQ(members.state(i).tensors[t], members.state(0).tensors[t]);
}

/// What a member does when it computes every position itself, beside the group, which copies what members have in common.
TEST_F(Rounds, AMemberByItselfGetsTheBitsOfTheGroup) {
    spec_.update = UpdateKind::sparse;
    const GroupPlan made = plan();
    LocalGroup members = group(made, 3);
    // Member 2: is there, is not recorded, is away for two rounds, one of them empty, and returns.
    const std::vector<std::vector<MemberTurn>> turns{
        {{3, true}, {5, true}, {2, true}}, {{3, true}, {3, true}, {4, false}}, {{1, true}, {2, false}, {1, false}},
        {{5, true}, {5, true}, {0, true}}, {{0, true}, {0, true}, {0, true}},  {{2, true}, {2, true}, {5, true}}};
    PlanExecutor executor(made, pool_);
    State alone = executor.init(3);
    const MemberInputs inputs{3, member_seed(3, 2), {&x_, &y_}};
    struct Sent {
        std::uint32_t steps;
        std::vector<Tensor> tensors;
    };
    std::vector<std::vector<Sent>> records;
    const auto source = [&](const Position& at) {
        std::uint32_t total = 0;
        for (const Sent& sent : records[at.record]) total += sent.steps;
        const Sent& sent = records[at.record][at.message];
        Message out{{sent.steps, total, 0, sent.steps}, {}};
        for (const Tensor& tensor : sent.tensors) out.tensors.push_back(&tensor);
        return out;
    };
    SegmentSpan span;
    const auto run_alone = [&](std::uint32_t steps) {
        std::vector<std::uint32_t> counts;
        for (std::uint64_t r = span.from; r < records.size(); ++r)
            counts.push_back(static_cast<std::uint32_t>(records[r].size()));
        span.base = records.size();
        span.steps = steps;
        const SegmentPositions segment = SegmentPositions::make(span, counts, made.steps_max).value();
        executor.run(alone, segment, 0, segment.count(), inputs, source);
        span = {span.base, 0, 0, {}};
    };
    for (const std::vector<MemberTurn>& turn : turns) {
        if (turn[2].steps != 0) run_alone(turn[2].steps);
        members.play(turn);
        if (turn[2].steps != 0 && !turn[2].recorded) span.omitted = records.size();
        std::vector<Sent>& record = records.emplace_back();
        for (std::uint32_t i = 0; i < 3; ++i) {
            if (turn[i].steps == 0 || !turn[i].recorded) continue;
            Sent& sent = record.emplace_back(Sent{turn[i].steps, {}});
            for (const std::uint32_t t : made.public_tensors) sent.tensors.push_back(members.state(i).tensors[t]);
        }
        if (turn[2].steps == 0) continue;
        EXPECT_EQ(members.state(2), alone) << "round " << records.size() - 1;
    }
    run_alone(0);
    members.catch_up(0);
    EXPECT_EQ(members.catch_up(2), alone);
}

TEST_F(Rounds, ALostMessageComesBackInTheNextOne) {
    const GroupPlan made = plan();
    LocalGroup members = group(made, 1);
    const auto state_of = [&](const std::string& name) -> const Tensor& {
        const Program& program = made.phases.front().program;
        for (std::uint32_t t = 0; t < program.states; ++t)
            if (program.tensors[t].name == name) return members.state(0).tensors[t];
        return x_;
    };
    const Tensor anchor = state_of(kAnchorName);
    members.play({{5, false}});
    const Tensor lost = members.state(0).tensors[made.public_tensors[0]];
    members.catch_up(0);
    EXPECT_EQ(state_of(kAnchorName), anchor) << "nobody has it";
    EXPECT_EQ(state_of("rounds.residual").data, lost.data);
}

TEST_F(Rounds, AMemberThatJoinsHasTheSharedModel) {
    const GroupPlan made = plan();
    LocalGroup members = group(made, 2);
    for (int round = 0; round < 3; ++round) members.play(all(2, 5));
    members.catch_up(0);
    members.join(0);
    EXPECT_EQ(loss(made, members.state(2)), loss(made, members.state(0)));
    members.play(all(3, 5));
    for (std::uint32_t i = 0; i < 3; ++i) members.catch_up(i);
    for (std::uint32_t t = 0; t < made.shared; ++t) EXPECT_EQ(members.state(2).tensors[t], members.state(0).tensors[t]);
}

TEST_F(Rounds, AGroupThatBeginsLaterGoesOnAsOneThatJoined) {
    const GroupPlan made = plan();
    LocalGroup members = group(made, 1);
    for (int round = 0; round < 3; ++round) members.play(all(1, 5));
    members.catch_up(0);
    std::vector<const Tensor*> shared;
    for (std::uint32_t t = 0; t < made.shared; ++t) shared.push_back(&members.state(0).tensors[t]);
    LocalGroup later(made, 3, {&x_, &y_}, 2, pool_, 3, shared);
    members.join(0);
    for (int round = 0; round < 2; ++round) {
        members.play({{0, true}, {5, true}});
        later.play({{0, true}, {5, true}});
    }
    EXPECT_EQ(later.catch_up(1), members.catch_up(1));
    EXPECT_EQ(later.rounds(), 5u);
}

TEST_F(Rounds, AMemberTrainsOnDataOfItsOwn) {
    const GroupPlan made = plan();
    Tensor other = y_;
    for (std::uint8_t& label : other.data) label = 1 - label;
    LocalGroup same = group(made, 2), own = group(made, 2), all_other(made, 3, {&x_, &other}, 2, pool_);
    own.set_data(1, {&x_, &other});
    for (LocalGroup* members : {&same, &own, &all_other}) members->play(all(2, 5));
    EXPECT_EQ(own.state(0), same.state(0));
    EXPECT_EQ(own.state(1), all_other.state(1));
    EXPECT_NE(own.state(1), same.state(1));
}

TEST_F(Rounds, SparseMessagesTeachAsWell) {
    for (const std::uint32_t bits : {1U, 2U}) {
        spec_.update = UpdateKind::sparse;
        spec_.bits = bits;
        const GroupPlan made = plan();
        LocalGroup members = group(made, 4);
        for (int round = 0; round < 60; ++round) members.play(all(4, 5));
        for (std::uint32_t i = 0; i < 4; ++i) members.catch_up(i);
        EXPECT_LT(loss(made, members.state(0)), 0.3f) << bits;
        for (std::uint32_t t = 0; t < made.shared; ++t)
            EXPECT_EQ(members.state(3).tensors[t], members.state(0).tensors[t]);
    }
}

TEST_F(Rounds, MessagesUnderMasksTeachAsWell) {
    spec_.update = UpdateKind::masked;
    // All changes in each round as often as dense messages, or an eighth of them in turn.
    for (const auto& [kept, rounds] : {std::pair{512U, 30}, std::pair{64U, 240}}) {
        spec_.kept = kept;
        const GroupPlan made = plan();
        EXPECT_TRUE(made.has_masks());
        LocalGroup members = group(made, 4);
        EXPECT_GT(loss(made, members.state(0)), 0.6f);
        for (int round = 0; round < rounds; ++round) members.play(all(4, 5));
        members.catch_up(0);
        members.join(0);
        for (std::uint32_t i = 0; i < 5; ++i) members.catch_up(i);
        EXPECT_LT(loss(made, members.state(0)), 0.3f) << kept;
        for (std::uint32_t t = 0; t < made.shared; ++t) {
            EXPECT_EQ(members.state(3).tensors[t], members.state(0).tensors[t]);
            EXPECT_EQ(members.state(4).tensors[t], members.state(0).tensors[t]);
        }
    }
}

/// Who is gone takes nothing with it: the sum is that of the others, as if it had not been there.
TEST_F(Rounds, MasksLeaveTheSumOfTheRecordedMessages) {
    spec_.update = UpdateKind::masked;
    const GroupPlan made = plan();
    const std::uint32_t sent = made.public_tensors[0];
    LocalGroup gone = group(made, 6), absent = group(made, 6);
    for (int round = 0; round < 3; ++round) {
        gone.play({{3, true}, {5, false}, {4, true}, {2, true}, {5, true}, {1, false}});
        absent.play({{3, true}, {0, true}, {4, true}, {2, true}, {5, true}, {0, true}});
        for (const std::uint32_t i : {0u, 2u, 3u, 4u})
            EXPECT_NE(gone.state(i).tensors[sent], absent.state(i).tensors[sent]) << "masks with other members";
    }
    for (const std::uint32_t i : {0u, 4u}) {
        gone.catch_up(i);
        absent.catch_up(i);
        for (std::uint32_t t = 0; t < made.shared; ++t)
            EXPECT_EQ(gone.state(i).tensors[t], absent.state(i).tensors[t]) << t;
        for (const std::uint8_t byte : gone.state(i).tensors[sent].data)
            EXPECT_EQ(byte, 0) << "the last state has nothing that follows from masks";
    }
}

TEST_F(Rounds, GradientsTeachAsWell) {
    spec_.update = UpdateKind::gradient;
    spec_.inner = 1;
    spec_.outer_rate.reset();
    for (const std::uint32_t bits : {1U, 2U}) {
        for (const float momentum : {0.0f, 0.5f, -1.0f}) {
            TrainingSpec training = training_;
            training.optimizer = momentum < 0 ? Optimizer::adamw : Optimizer::sgd;
            training.momentum = std::max(momentum, 0.0f);
            training.learning_rate = momentum < 0 ? 3e-3f : 0.1f;
            spec_.bits = bits;
            programs_ = build_training(model_, training, kSamples, kSamples).value();
            const Program gradient = build_gradient(source_of(model_, training.precision), training).value();
            const GroupPlan made = build_rounds(programs_, training, spec_, &gradient).value();
            EXPECT_EQ(made.shared, 2 + moment_suffixes(training).size());
            LocalGroup members = group(made, 4);
            for (int round = 0; round < 300; ++round) members.play(all(4, 1));
            members.catch_up(0);
            members.join(0);
            for (std::uint32_t i = 0; i < 5; ++i) members.catch_up(i);
            EXPECT_LT(loss(made, members.state(0)), 0.3f) << bits << " " << momentum;
            for (std::uint32_t t = 0; t < made.shared; ++t) {
                EXPECT_EQ(members.state(3).tensors[t], members.state(0).tensors[t]);
                EXPECT_EQ(members.state(4).tensors[t], members.state(0).tensors[t]);
            }
        }
    }
}

/// A member's state has the metrics of its last inner step, and all its other tensors are as without.
TEST_F(Rounds, EachMemberKeepsTheMetricsOfItsLastStep) {
    for (const UpdateKind update : {UpdateKind::dense, UpdateKind::sparse, UpdateKind::gradient}) {
        spec_.update = update;
        spec_.inner = update == UpdateKind::gradient ? 1 : 3;
        training_.clip_norm = 1.0f;
        const auto made = [&] {
            programs_ = build_training(model_, training_, kSamples, kSamples).value();
            const Program gradient = build_gradient(source_of(model_, training_.precision), training_).value();
            return build_rounds(programs_, training_, spec_, &gradient).value();
        };
        training_.keep_metrics = false;
        const GroupPlan plain = made();
        training_.keep_metrics = true;
        const GroupPlan kept = made();
        const std::uint32_t at = plain.phases.front().program.states;
        const std::vector<std::string> names{kAccuracyTensor, kGradientNormTensor, kLossTensor};
        ASSERT_EQ(kept.phases.front().program.states, at + names.size());
        for (std::uint32_t i = 0; i < names.size(); ++i)
            EXPECT_EQ(kept.phases.front().program.tensors[at + i].name, names[i]);
        EXPECT_EQ(kept.shared, plain.shared);
        EXPECT_EQ(kept.public_tensors, plain.public_tensors);

        LocalGroup members = group(kept, 2), others = group(plain, 2);
        for (int round = 0; round < 3; ++round) {
            const auto metrics = members.play(all(2, spec_.inner));
            others.play(all(2, spec_.inner));
            for (std::uint32_t i = 0; i < 2; ++i)
                EXPECT_EQ(members.state(i).tensors[at + 2].bits(0),
                          std::bit_cast<std::uint32_t>(metrics[i].back()[0].value))
                    << "member " << i << " in round " << round;
            for (std::uint32_t t = at; t < at + names.size(); ++t)
                EXPECT_GT(std::bit_cast<float>(members.state(0).tensors[t].bits(0)), 0.0f) << names[t - at];
        }
        EXPECT_NE(members.state(0).tensors[at + 2], members.state(1).tensors[at + 2]) << "it is not combined";
        members.catch_up(0);
        others.catch_up(0);
        for (std::uint32_t t = 0; t < at; ++t) EXPECT_EQ(members.state(0).tensors[t], others.state(0).tensors[t]) << t;
    }
}

/// `end` does with the sum of gradients what AdamW does, in doubles.
TEST_F(Rounds, TheOptimiserOfGradientsIsThatOfTheTraining) {
    spec_.update = UpdateKind::gradient;
    spec_.inner = 1;
    spec_.outer_rate.reset();
    TrainingSpec training = training_;
    training.schedule = "cosine";
    training.warmup_steps = 3;
    training.weight_decay = 0.1f;
    const Program gradient = build_gradient(source_of(model_, training.precision), training).value();
    programs_ = build_training(model_, training, kSamples, kSamples).value();
    const GroupPlan made = build_rounds(programs_, training, spec_, &gradient).value();
    State state = group(made, 1).state(0);
    const Program& names = made.phases.front().program;
    const auto tensor = [&](const std::string& name) -> Tensor& {
        for (std::uint32_t t = 0; t < names.states; ++t)
            if (names.tensors[t].name == name) return state.tensors[t];
        throw std::out_of_range(name);
    };
    Executor end(*made.find(Phase::end), pool_);
    std::vector<double> value, m, v;
    Tensor& anchor = tensor(kAnchorName);
    for (std::uint64_t e = 0; e < anchor.elements(); ++e)
        value.push_back(anchor.f32()[e]), m.push_back(0), v.push_back(0);
    std::mt19937 random(7);
    for (int round = 0; round < 6; ++round) {
        *tensor("rounds.found").f32() = round == 4 ? 0.0f : 1.0f;  // Round 4 has no finite message.
        const double rate = 3e-3 * (round < 3 ? (round + 1) / 3.0 : 0.5 * (1 + std::cos(M_PI * (round - 3) / 397.0)));
        Tensor& sum = tensor("rounds.gradient_sum");
        for (std::uint64_t e = 0; e < anchor.elements(); ++e) {
            const float g = static_cast<float>(static_cast<std::int32_t>(random())) * 1e-9f;
            sum.f32()[e] = g;
            if (round == 4) continue;
            m[e] = 0.9 * m[e] + 0.1 * double{g};
            v[e] = 0.999 * v[e] + 0.001 * double{g} * double{g};
            value[e] *= 1 - rate * 0.1;
            value[e] -= rate / (1 - std::pow(0.9, round + 1)) * m[e] /
                        (std::sqrt(v[e] / (1 - std::pow(0.999, round + 1))) + 1e-8);
        }
        state.step = static_cast<std::uint64_t>(round) + 1;  // What `end` of record `round` sees.
        end.step(state, {});
        for (std::uint64_t e = 0; e < anchor.elements(); ++e)
            ASSERT_NEAR(double{anchor.f32()[e]}, value[e], 1e-6) << "round " << round << ", element " << e;
    }
    const Tensor& weight = state.tensors[made.public_tensors.back() + 1];
    EXPECT_EQ(std::memcmp(weight.data.data(), anchor.data.data(), weight.data.size()), 0) << "θ is the anchor";
}

/// Whatever a member sends, a round moves no shared parameter by a number that is none, and at most by its share.
TEST_F(Rounds, NoBitsOfAMessageSpoilTheSharedModel) {
    spec_.update = UpdateKind::sparse;
    spec_.outer_rate = 1.0f;
    const GroupPlan made = plan();
    const Program& add = *made.find(Phase::add);
    Executor executor(add, pool_), begin(*made.find(Phase::begin), pool_);
    LocalGroup members = group(made, 1);
    std::mt19937 random(5);
    const Tensor facts = fact_tensor({1, 1, 0, 5});
    for (int i = 0; i < 300; ++i) {
        State state = members.state(0);
        begin.step(state, {});
        std::vector<Tensor> message;
        for (const std::uint32_t t : made.public_tensors) {
            message.push_back(state.tensors[t]);
            for (std::uint8_t& byte : message.back().data) byte = static_cast<std::uint8_t>(random());
        }
        if (i % 2 == 0)  // Finite levels, so that the rest is taken.
            for (std::uint64_t e = 0; e < message[2].elements(); ++e)
                message[2].f32()[e] = static_cast<float>(static_cast<std::int32_t>(random())) * 1e-3f;
        const Tensor anchor = state.tensors[0];
        executor.step(state, {0, {&message[0], &message[1], &message[2], &facts}});
        const float norm = *members.state(0).tensors[1].f32();
        double moved = 0;
        for (std::uint64_t e = 0; e < anchor.elements(); ++e) {
            ASSERT_TRUE(std::isfinite(state.tensors[0].f32()[e]));
            const double change = double{state.tensors[0].f32()[e]} - double{anchor.f32()[e]};
            moved += change * change;
        }
        EXPECT_LE(std::sqrt(moved), 1.001 * spec_.clip * norm) << i;
    }
}

/// Rows end with places that no parameter has. Members that took their part of the shared model for changes would send it.
TEST_F(Rounds, PlacesWithoutParametersMoveNothing) {
    spec_.update = UpdateKind::dense;
    const GroupPlan made = plan();
    const std::uint64_t parameters = 16 * 32 + 32 + 32 * 2 + 2;
    State state = group(made, 1).state(0);
    Tensor& anchor = state.tensors[0];
    ASSERT_GT(anchor.elements(), parameters);
    for (std::uint64_t e = parameters; e < anchor.elements(); ++e) anchor.f32()[e] = 3.0f;
    Executor press(*made.find(Phase::press), pool_);
    press.step(state, {});
    const Tensor& message = state.tensors[made.public_tensors[0]];
    for (std::uint64_t e = 0; e < message.elements(); ++e) ASSERT_EQ(message.f32()[e], 0.0f) << e;
}

TEST_F(Rounds, TheDefaultOuterRateFollowsFromMembersAndSize) {
    spec_.update = UpdateKind::sparse;
    spec_.members = 8;
    EXPECT_NEAR(default_outer_rate(spec_, 10'000'000), 5.937f, 0.002f) << "a change is sent in every 64th round";
    EXPECT_NEAR(default_outer_rate(spec_, 610), 1.516f, 0.002f) << "in every 2.4th";
    spec_.members = 2;
    EXPECT_EQ(default_outer_rate(spec_, 10'000'000), 1.5f);
    spec_.update = UpdateKind::dense;
    EXPECT_EQ(default_outer_rate(spec_, 10'000'000), 1.0f);
}

TEST_F(Rounds, WhatCannotBeTrainedInRoundsIsNamed) {
    const auto refusal = [&](const RoundsSpec& spec) {
        const auto made = build_rounds(programs_, training_, spec);
        return made ? "" : made.error().message;
    };
    RoundsSpec wrong = spec_;
    wrong.inner = 0;
    EXPECT_THAT(refusal(wrong), HasSubstr("inner steps"));
    for (const float value : {0.0f, -1.0f, NAN, INFINITY}) {
        wrong = spec_;
        wrong.outer_rate = value;
        EXPECT_THAT(refusal(wrong), HasSubstr("outer rate"));
        wrong = spec_;
        wrong.clip = value;
        EXPECT_THAT(refusal(wrong), HasSubstr("clip"));
    }
    wrong = spec_;
    wrong.kept = 9;
    EXPECT_THAT(refusal(wrong), HasSubstr("kept values"));
    wrong = spec_;
    wrong.bits = 3;
    EXPECT_THAT(refusal(wrong), HasSubstr("bits"));
    wrong = spec_;
    wrong.residual_decay = NAN;
    EXPECT_THAT(refusal(wrong), HasSubstr("residual"));

    ModelSpec images;
    images.kind = "resnet";
    images.input = {1, 8, 8};
    images.width = 4;
    images.layers = 1;
    for (const float momentum : {0.9f, 0.0f}) {
        TrainingSpec sgd = training_;
        sgd.optimizer = Optimizer::sgd;
        sgd.momentum = momentum;
        const auto programs = build_training(images, sgd, kSamples, kSamples);
        ASSERT_TRUE(programs.has_value()) << programs.error().message;
        const auto made = build_rounds(*programs, sgd, spec_);
        ASSERT_FALSE(made.has_value());
        EXPECT_THAT(made.error().message, HasSubstr("is no trained parameter"));
    }
    wrong = spec_;
    wrong.update = UpdateKind::gradient;
    EXPECT_THAT(refusal(wrong), HasSubstr("one inner step"));
    wrong.inner = 1;
    wrong.outer_rate = 1.0f;
    EXPECT_THAT(refusal(wrong), HasSubstr("no outer rate"));

    TrainingPrograms given = programs_;
    given.init = {};
    EXPECT_THAT(build_rounds(given, training_, spec_).error().message, HasSubstr("begins with a seed"));
}

/// The definition of a rollback: members end as if the liar had not sent in that round, and nobody in those after it.
TEST_F(Rounds, ARollbackLeavesWhatTheMembersHadSentInThatRound) {
    const GroupPlan made = plan();
    const std::vector<MemberTurn> nobody(4, MemberTurn{0, true});
    const std::vector<MemberTurn> honest = {{5, true}, {5, true}, {3, true}, {0, true}};
    LocalGroup lied = group(made, 4), honestly = group(made, 4);
    lied.set_ahead(4);
    for (LocalGroup* const each : {&lied, &honestly})
        for (int round = 0; round < 2; ++round) each->play(all(4, 5));
    // Round 2: member 1 is not recorded, and member 3 lies. Rounds 3 and 4 follow from it; in round 5 it is convicted.
    std::vector<MemberTurn> turns = {{5, true}, {4, false}, {3, true}, {5, true}};
    lied.play(turns);
    turns[3].steps = 0;
    honestly.play(turns);
    for (int round = 0; round < 2; ++round) {
        lied.play(all(4, 5));
        honestly.play(nobody);
    }
    lied.roll_back(3, 2);
    honestly.play(nobody);
    EXPECT_EQ(lied.rounds(), 6u);
    for (LocalGroup* const each : {&lied, &honestly}) {
        for (int round = 0; round < 3; ++round) each->play(honest);
        for (std::uint32_t member = 0; member < 3; ++member) each->catch_up(member);
    }
    for (std::uint32_t member = 0; member < 3; ++member)
        EXPECT_EQ(lied.commit(member).root, honestly.commit(member).root) << member;
}

TEST_F(Rounds, ARollbackReachesAMemberThatWasAway) {
    const GroupPlan made = plan();
    LocalGroup lied = group(made, 3), honestly = group(made, 3);
    lied.set_ahead(3);
    const std::vector<MemberTurn> nobody(3, MemberTurn{0, true});
    lied.play({{5, true}, {5, true}, {5, true}});
    honestly.play({{5, true}, {5, true}, {0, true}});
    lied.play({{5, true}, {0, true}, {5, true}});
    honestly.play(nobody);
    lied.roll_back(2, 0);
    honestly.play(nobody);
    for (LocalGroup* const each : {&lied, &honestly}) {
        each->play({{5, true}, {5, true}, {0, true}});
        for (std::uint32_t member = 0; member < 2; ++member) each->catch_up(member);
    }
    for (std::uint32_t member = 0; member < 2; ++member)
        EXPECT_EQ(lied.commit(member).root, honestly.commit(member).root) << member;
}

}  // namespace
}  // namespace retrace::solver
