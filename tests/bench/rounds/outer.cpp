// SPDX-License-Identifier: MIT
// What rounds add to the work of a member, in processor time of one thread, which others on the machine change little.
#include <ctime>
#include <map>

#include "kernels/plan/plan_executor.hpp"
#include "merkle/base/ensure.hpp"
#include "solver/rounds/local_group.hpp"
#include "tests/bench/rounds/measurements.hpp"

namespace retrace::bench {
namespace {

using kernels::Phase;

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

kernels::GroupPlan plan_of(const Recipe& recipe) {
    const auto programs =
        kernels::build_training(recipe.model, recipe.training, recipe.test.samples(), recipe.test_batch);
    ensure(programs.has_value(), "the programs of a benchmark");
    kernels::RoundsSpec spec;
    spec.inner = kInner;
    auto plan = kernels::build_rounds(*programs, recipe.training, spec);
    ensure(plan.has_value(), "the plan of a benchmark");
    return *std::move(plan);
}

/// A member that computes every position itself, in rounds to which all members send what it sends.
class Member {
public:
    Member(const Recipe& recipe, const kernels::GroupPlan& plan, kernels::ThreadPool& pool)
        : plan_(plan),
          members_(recipe.members),
          inputs_{1, 2, {recipe.data.find("x"), recipe.data.find("y")}},
          executor_(plan, pool) {
        const double begin = processor_seconds();
        state_ = executor_.init(1);
        init_seconds_ = processor_seconds() - begin;
    }

    double init_seconds() const { return init_seconds_; }

    /// Plays a round; returns the seconds of each position.
    std::vector<std::pair<Phase, double>> play() {
        const std::vector<std::uint32_t> counts(round_ == 0 ? 0 : 1, members_);
        const auto segment =
            kernels::SegmentPositions::make({round_ - counts.size(), round_, kInner, {}}, counts, plan_.steps_max);
        ensure(segment.has_value(), "a segment of a benchmark");
        std::vector<std::pair<Phase, double>> out;
        for (std::uint64_t place = 0; place < segment->count(); ++place) {
            const double begin = processor_seconds();
            executor_.run(state_, *segment, place, place + 1, inputs_, [this](const kernels::Position&) {
                kernels::Message message{{kInner, kInner * members_, 0, kInner}, {}};
                for (const kernels::Tensor& tensor : sent_) message.tensors.push_back(&tensor);
                return message;
            });
            out.emplace_back(segment->at(place).phase, processor_seconds() - begin);
        }
        sent_.clear();
        for (const std::uint32_t t : plan_.public_tensors) sent_.push_back(state_.tensors[t]);
        ++round_;
        return out;
    }

private:
    const kernels::GroupPlan& plan_;
    const std::uint32_t members_;
    const kernels::MemberInputs inputs_;
    kernels::PlanExecutor executor_;
    kernels::State state_;
    double init_seconds_ = 0;
    std::vector<kernels::Tensor> sent_;
    std::uint64_t round_ = 0;
};

struct Measured {
    double init = 0;    ///< Seconds of a first state.
    double round = 0;   ///< Seconds of a member's round.
    double common = 0;  ///< Of which begin, add and end.
    double press = 0;   ///< Of which press.
    double group = 0;   ///< Seconds of a round of a local group.
    std::uint32_t members = 0;
};

/// Alternates rounds of a member by itself with rounds of a local group.
Measured measure(const std::string& name, const Recipe& recipe) {
    constexpr int kRounds = 12;
    const kernels::GroupPlan plan = plan_of(recipe);
    kernels::ThreadPool pool(1);
    Member member(recipe, plan, pool);
    solver::LocalGroup group(plan, 1, {recipe.data.find("x"), recipe.data.find("y")}, recipe.members, pool);
    const std::vector<solver::MemberTurn> turns(recipe.members, {kInner, true});
    std::map<Phase, std::vector<double>> samples;
    std::vector<double> groups;
    for (int round = 0; round < kRounds; ++round) {
        const auto positions = member.play();
        const double begin = processor_seconds();
        group.play(turns);
        if (round < 2) continue;  // Executors are made in the first two rounds.
        groups.push_back(processor_seconds() - begin);
        for (const auto& [phase, seconds] : positions) samples[phase].push_back(seconds);
    }
    std::map<Phase, double> took;
    for (const auto& [phase, seconds] : samples) took[phase] = median(seconds);
    Measured out;
    out.members = recipe.members;
    out.init = member.init_seconds();
    out.common = took[Phase::begin] + recipe.members * took[Phase::add] + took[Phase::end];
    out.press = took[Phase::press];
    out.round = out.common + kInner * took[Phase::inner] + out.press;
    out.group = median(groups);
    const double expected = recipe.members * (out.round - out.common) + out.common;
    std::fprintf(stderr,
                 "%s: ms: inner step %.3f, begin %.3f, add %.3f, end %.3f, press %.3f; a round of a group %.1f, of "
                 "members by themselves %.1f, expected of the group %.1f\n",
                 name.c_str(), took[Phase::inner] * 1e3, took[Phase::begin] * 1e3, took[Phase::add] * 1e3,
                 took[Phase::end] * 1e3, out.press * 1e3, out.group * 1e3, recipe.members * out.round * 1e3,
                 expected * 1e3);
    return out;
}

/// What the auditors of a task replay, as expected by the draws: 5 % of the segments, two auditors each, and the segments
/// that are always drawn. 400 rounds, and one solver with as many segments of as many inner steps.
Row audit_row(const Measured& took) {
    constexpr double kRounds = 400, kShare = 0.05, kAuditors = 2;
    const double outer = took.common + took.press, steps = took.round - outer;
    // The last segment of a member takes in the last records and has no steps.
    const double member = took.init + took.round + kShare * (kRounds - 1) * took.round + took.common;
    const double one = took.init + steps + kShare * (took.members * kRounds - 2) * steps + steps;
    return {"rounds_audit", "s", "one solver, as many segments of equal work", kAuditors * took.members * member,
            kAuditors * one};
}

}  // namespace

std::vector<Row> measure_outer() {
    std::vector<Row> rows;
    if (const auto recipe = text_recipe()) {
        const Measured took = measure("gpt", *recipe);
        rows.push_back({"rounds_outer", "s", "a round of ten steps", took.common + took.press, took.round});
        rows.push_back(audit_row(took));
        rows.push_back({"rounds_local_gpt", "s", "a local group", took.members * took.round, took.group});
    } else {
        rows.push_back({"rounds_outer", "s", recipe.error().message});
    }
    if (auto recipe = image_recipe()) {
        recipe->model.kind = "mlp";
        const Measured took = measure("mlp", *recipe);
        rows.push_back({"rounds_local_mlp", "s", "a local group", took.members * took.round, took.group});
    } else {
        rows.push_back({"rounds_local_mlp", "s", recipe.error().message});
    }
    return rows;
}

}  // namespace retrace::bench
