// SPDX-License-Identifier: MIT
#include "tests/unit/verifier/rounds/group_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/builder/models.hpp"
#include "kernels/commit/contract.hpp"

namespace retrace::test {

using kernels::State;
using kernels::Tensor;

namespace {

constexpr std::uint64_t kSamples = 32, kPixels = 8;

}  // namespace

GroupWorld::GroupWorld(kernels::UpdateKind update, std::uint32_t members) {
    x = kernels::zeros(kernels::DType::u8, {kSamples, kPixels});
    y = kernels::zeros(kernels::DType::u8, {kSamples});
    std::uint32_t word = 12345;
    for (std::uint8_t& byte : x.data) {
        word = word * 1664525 + 1013904223;
        byte = static_cast<std::uint8_t>(word >> 24);
    }
    for (std::uint64_t i = 0; i < kSamples; ++i) y.data[i] = x.data[i * kPixels] > 127 ? 1 : 0;
    kernels::ModelSpec model;
    model.hidden = {6};
    model.input = {kPixels};
    model.classes = 2;
    kernels::TrainingSpec training;
    training.samples = kSamples;
    training.batch = 8;
    training.steps = 400;
    training.learning_rate = 3e-3f;
    const auto programs = kernels::build_training(model, training, kSamples, kSamples);
    EXPECT_TRUE(programs.has_value());
    kernels::RoundsSpec spec;
    spec.update = update;
    spec.inner = 3;
    spec.members = members;
    std::optional<kernels::Program> gradient;
    if (update == kernels::UpdateKind::gradient) {
        spec.inner = 1;
        gradient = kernels::build_gradient(kernels::source_of(model, training.precision), training).value();
    }
    plan = kernels::build_rounds(*programs, training, spec, gradient ? &*gradient : nullptr).value();
    committed = std::make_unique<solver::CommittedPlan>(plan);
    group = std::make_unique<solver::LocalGroup>(plan, kSeed, std::vector<const Tensor*>{&x, &y}, members, pool);
    group->set_max_age(kMaxAge);
    members_.resize(members);
    for (std::uint32_t i = 0; i < members; ++i) firsts.push_back(group->state(i));
}

PlayedSegment GroupWorld::begin(std::uint32_t member, std::uint64_t base, std::uint32_t steps) {
    Member& own = members_[member];
    PlayedSegment out;
    out.run = member;
    out.index = own.index++;
    out.view.span = {own.base, base, steps, own.omitted};
    out.view.start_step = own.step;
    for (std::uint64_t r = own.base; r < base; ++r) out.view.records.push_back(records[r]);
    out.start = group->state(member);
    out.start_root = group->commit(member).root;
    own.base = base;
    own.omitted.reset();
    return out;
}

void GroupWorld::end(std::uint32_t member, PlayedSegment segment) {
    segment.end = group->state(member);
    segment.end_root = group->commit(member).root;
    members_[member].step = segment.end.step;
    segments.push_back(std::move(segment));
}

void GroupWorld::play(std::vector<solver::MemberTurn> turns) {
    for (solver::MemberTurn& turn : turns) turn.steps = std::min(turn.steps, plan.steps_max);
    const auto round = static_cast<std::uint32_t>(group->rounds());
    std::vector<PlayedSegment> begun;
    for (std::uint32_t i = 0; i < turns.size(); ++i)
        if (turns[i].steps != 0) begun.push_back(begin(i, round - turns[i].age, turns[i].steps));
    group->play(turns);
    solver::RecordView record;
    record.round = round;
    for (PlayedSegment& segment : begun) {
        const std::uint32_t run = segment.run;
        segment.view.masks = group->masks(run);
        segment.view.span.masks = static_cast<std::uint32_t>(segment.view.masks.size());
        end(run, std::move(segment));
        if (!turns[run].recorded) {
            members_[run].omitted = round;
            continue;
        }
        const std::uint32_t age = turns[run].age;
        solver::RecordView::Entry entry{
            run, turns[run].steps, {}, kernels::message_weight(turns[run].steps, age, kMaxAge), age};
        for (const std::uint32_t t : plan.public_tensors) {
            const Tensor& tensor = group->state(run).tensors[t];
            entry.tensors.push_back(kernels::tensor_root(tensor, pool));
            tensors.insert_or_assign(entry.tensors.back(), tensor);
        }
        record.total += entry.weight;
        record.entries.push_back(std::move(entry));
    }
    record.masks = group->masks_of_record(round);
    records.push_back(std::move(record));
}

void GroupWorld::catch_up(std::uint32_t member) {
    PlayedSegment segment = begin(member, group->rounds(), 0);
    group->catch_up(member);
    end(member, std::move(segment));
}

void GroupWorld::join(std::uint32_t from) {
    group->join(from);
    Member member;
    member.base = member.entered = group->rounds();
    member.step = kernels::header_step(member.base, 0);
    for (std::uint32_t t = 0; t < plan.shared; ++t) member.anchor.push_back(group->state(from).tensors[t]);
    members_.push_back(std::move(member));
    firsts.push_back(group->state(group->members() - 1));
}

std::unique_ptr<solver::PlanRunner> GroupWorld::runner(const Lie& lie) const {
    const solver::PlanRunner::MakeRunner make =
        [this, lie](const kernels::Program& program, kernels::Inputs inputs) -> std::unique_ptr<solver::StepRunner> {
        if (lie.tamper && &program == &committed->program(lie.phase).program())
            return std::make_unique<LyingRunner>(program, std::move(inputs), pool, lie.tamper);
        return std::make_unique<solver::ProgramRunner>(program, std::move(inputs), pool);
    };
    return runner(make);
}

std::unique_ptr<solver::PlanRunner> GroupWorld::runner(const solver::PlanRunner::MakeRunner& make) const {
    return std::make_unique<solver::PlanRunner>(*committed, kSeed, std::vector<const Tensor*>{&x, &y}, make, pool);
}

verifier::MemberSetup GroupWorld::setup(solver::PlanRunner& runner, std::uint32_t run) const {
    return {&runner, &pool, {&x, &y}, run};
}

verifier::LoadMessage GroupWorld::messages(const PlayedSegment& segment) const {
    return [this, records_of = segment.view.records](std::size_t record, std::size_t entry) {
        std::vector<Tensor> out;
        for (const Hash32& root : records_of.at(record).entries.at(entry).tensors) out.push_back(tensors.at(root));
        return out;
    };
}

kernels::SegmentPositions GroupWorld::positions(const PlayedSegment& segment) const {
    return segment.view.positions(plan.steps_max).value();
}

verifier::Replayer GroupWorld::replay(const PlayedSegment& segment, solver::PlanRunner& runner) const {
    const kernels::SegmentPositions made = positions(segment);
    return verifier::Replayer(verifier::steps_of(setup(runner, segment.run), segment.view, made, messages(segment)),
                              pool, segment.start, 0, made.count());
}

verifier::StepFacts GroupWorld::facts_at(const PlayedSegment& segment, std::uint64_t place) const {
    const kernels::Position position = positions(segment).at(place);
    verifier::StepFacts facts;
    facts.played_root = committed->program(position.phase).root();
    facts.seed = committed->has_member_seed(position.phase) ? kernels::member_seed(kSeed, segment.run) : kSeed;
    facts.op_step = position.op_step;
    facts.output_step = kernels::header_step(segment.view.span.base, place + 1);
    if (position.phase == kernels::Phase::inner) {
        facts.data_roots = terms().data_roots;
    } else if (position.phase == kernels::Phase::mask || position.phase == kernels::Phase::unmask) {
        const bool own = position.phase == kernels::Phase::mask;
        facts.data_roots = {kernels::mask_table_root(
            own ? segment.view.masks : segment.view.records[position.record - segment.view.span.from].masks)};
        facts.data_roots.push_back(
            kernels::tensor_root(kernels::fact_tensor(kernels::mask_facts(position.message)), pool));
    } else if (position.phase == kernels::Phase::add) {
        const solver::RecordView& record = segment.view.records[position.record - segment.view.span.from];
        facts.data_roots = record.entries[position.message].tensors;
        facts.data_roots.push_back(
            kernels::tensor_root(kernels::fact_tensor(facts_of(record, position.message)), pool));
    }
    return facts;
}

verifier::Facts GroupWorld::facts() const { return {kernels::contract_hash(), committed->root(), {}, 0, {}}; }

solver::TaskTerms GroupWorld::terms() const {
    solver::TaskTerms out;
    out.id = 5;
    out.program_root = committed->root();
    out.program_bytes = kernels::encode(plan).size();
    out.init_root = committed->program(kernels::Phase::init).root();
    for (const Tensor* set : {&x, &y}) out.data_roots.push_back(kernels::tensor_root(*set, pool));
    out.schedule = {records.size() + 1, 1};
    out.seed = kSeed;
    out.contract = kernels::contract_hash();
    out.group = solver::GroupTerms{static_cast<std::uint32_t>(records.size()),
                                   plan.steps_max,
                                   plan.shared,
                                   plan.public_tensors,
                                   group->members(),
                                   64,
                                   256,
                                   kMaxAge};
    return out;
}

solver::EntryView GroupWorld::entry(std::uint32_t run) const {
    solver::EntryView out{static_cast<std::uint32_t>(members_[run].entered), {}};
    for (const Tensor& tensor : members_[run].anchor) out.anchor.push_back(kernels::tensor_root(tensor, pool));
    return out;
}

std::vector<Tensor> GroupWorld::anchor(std::uint32_t run) const { return members_[run].anchor; }

void play_eventful(GroupWorld& world) {
    world.play({{3, true}, {2, true}, {1, true}});
    world.play({{3, true}, {0, true}, {2, false}});
    world.play({{0, true}, {0, true}, {0, true}});  // An empty record.
    world.play({{1, true, 1}, {3, true}, {2, true}});
    world.catch_up(0);
    world.join(0);
    // A base follows the previous one, so member 0 sits this round out.
    world.play({{0, true}, {1, true}, {3, false}, {2, true}});
    for (std::uint32_t i = 0; i < 4; ++i) world.catch_up(i);
}

void play_apart(GroupWorld& world) {
    const std::uint32_t members = world.group->members();
    for (std::uint32_t round = 0; round < 2; ++round) {
        std::vector<solver::MemberTurn> turns;
        for (std::uint32_t i = 0; i < members; ++i) turns.push_back({2 + i % 2, i != round});
        world.play(turns);
        for (std::uint32_t i = 0; i < members; ++i) world.catch_up(i);
    }
}

const PlayedSegment& trained_apart(const GroupWorld& world) {
    return *std::find_if(world.segments.rbegin(), world.segments.rend(), [](const PlayedSegment& segment) {
        const solver::SegmentView& view = segment.view;
        return view.span.steps != 0 && view.start_step > kernels::header_step(view.span.base, 0);
    });
}

}  // namespace retrace::test
