// SPDX-License-Identifier: MIT
#include "tests/simulation/group_kind.hpp"

#include "kernels/builder/rounds.hpp"
#include "kernels/commit/commitment.hpp"
#include "merkle/base/ensure.hpp"
#include "tests/simulation/catalogue.hpp"

namespace retrace::sim {
namespace {

constexpr std::uint64_t kGroupSamples = 16;
constexpr std::uint32_t kInnerSteps = 4;

constexpr std::uint32_t kMaskBits = 10;

GroupKind make_group_kind(bool regional, bool masked) {
    kernels::ModelSpec model;
    model.hidden = {5};
    model.input = {1, 2, 3};
    model.classes = 3;
    kernels::TrainingSpec training;
    training.samples = kGroupSamples;
    training.batch = 4;
    training.steps = 400;
    kernels::RoundsSpec rounds;
    rounds.inner = kInnerSteps;
    rounds.members = 4;
    rounds.regions = regional ? 2 : 0;
    if (masked) {
        rounds.update = kernels::UpdateKind::masked;
        rounds.kept = 512;
        rounds.mask_bits = kMaskBits;
    }
    const auto programs = kernels::build_training(model, training, kGroupSamples, kGroupSamples);
    ensure(programs.has_value(), "the simulation's programs are valid");
    const auto plan = kernels::build_rounds(*programs, training, rounds);
    ensure(plan.has_value(), "the simulation's plan is valid");
    GroupKind out;
    out.plan_bytes = kernels::encode(*plan);
    out.header = kernels::header_of(*plan);
    out.data = made_up_data(programs->train, model.classes);
    kernels::ThreadPool pool(1);
    for (const kernels::Tensor& tensor : out.data) out.data_roots.push_back(kernels::tensor_root(tensor, pool));
    out.plan = std::make_unique<const solver::CommittedPlan>(*plan);
    return out;
}

}  // namespace

market::GroupSpec GroupKind::terms(const PlannedGroup& planned) const {
    market::GroupSpec out;
    out.rounds = planned.rounds;
    out.steps_max = header.steps_max;
    out.shared = header.shared;
    out.public_tensors = header.public_tensors;
    for (const auto& phase : header.phases)
        out.phases.push_back({static_cast<std::uint8_t>(phase.phase), phase.member_seed, phase.program});
    out.least = planned.least;
    out.round_blocks = planned.round_blocks;
    out.grace_blocks = planned.grace_blocks;
    out.fetch_blocks = planned.fetch_blocks;
    out.reveal_blocks = planned.reveal_blocks;
    out.absence_limit = planned.absence_limit;
    out.keep_rounds = planned.keep_rounds;
    out.catch_up_max = planned.members * (planned.absence_limit + planned.max_age + 1);
    out.max_age = planned.max_age;
    out.rollbacks = planned.rollbacks;
    out.ahead = planned.ahead;
    out.private_sets = static_cast<std::uint8_t>(planned.is_private ? data.size() : 0);
    if (planned.masked) {
        out.mask_bits = kMaskBits;
        out.mask_blocks = planned.mask_blocks;
        out.round_blocks += 4 * (planned.mask_blocks + 1);
        out.catch_up_max += 256;
    }
    if (planned.regions == 0) return out;
    out.rounds = 2 * planned.rounds;
    out.regions = planned.regions;
    out.merge_blocks = planned.merge_blocks;
    return out;
}

const GroupKind& group_kind(bool regional, bool masked) {
    static const GroupKind plain = make_group_kind(false, false), merging = make_group_kind(true, false),
                           hiding = make_group_kind(false, true);
    return regional ? merging : masked ? hiding : plain;
}

std::vector<kernels::Tensor> data_of_member(const ledger::Address& member, bool others) {
    std::vector<kernels::Tensor> out = group_kind(false).data;
    kernels::Tensor& samples = out.front();
    for (std::size_t i = 0; i < samples.data.size(); ++i)
        samples.data[i] ^= static_cast<std::uint8_t>(member.bytes[i % member.bytes.size()] + (others ? 1 : 0));
    return out;
}

std::vector<Hash32> roots_of(const std::vector<kernels::Tensor>& data) {
    kernels::ThreadPool pool(1);
    std::vector<Hash32> out;
    for (const kernels::Tensor& tensor : data) out.push_back(kernels::tensor_root(tensor, pool));
    return out;
}

}  // namespace retrace::sim
