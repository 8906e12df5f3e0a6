// SPDX-License-Identifier: MIT
#include "solver/rounds/local_group.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::solver {

using kernels::State;

LocalGroup::LocalGroup(const kernels::GroupPlan& plan, std::uint64_t task_seed,
                       std::vector<const kernels::Tensor*> datasets, std::uint32_t members, kernels::ThreadPool& pool,
                       kernels::Backend backend)
    : plan_(plan),
      root_(kernels::plan_root(plan)),
      seed_(task_seed),
      datasets_(std::move(datasets)),
      pool_(pool),
      executor_(plan, pool, backend) {
    for (std::uint32_t run = 0; run < members; ++run)
        members_.push_back({run, 0, {}, run == 0 ? executor_.init(task_seed) : members_[0].state});
}

kernels::Message LocalGroup::message(std::uint64_t record, std::uint32_t number) const {
    const std::vector<Entry>& entries = records_[record];
    std::uint32_t total = 0;
    for (const Entry& entry : entries) total += entry.steps;
    kernels::Message out{{entries[number].steps, total, 0, entries[number].steps}, {}};
    for (const kernels::Tensor& tensor : entries[number].tensors) out.tensors.push_back(&tensor);
    return out;
}

std::vector<std::vector<kernels::Metric>> LocalGroup::train(Member& member, std::uint32_t steps) {
    std::vector<std::uint32_t> counts;
    for (std::uint64_t r = member.base; r < rounds(); ++r)
        counts.push_back(static_cast<std::uint32_t>(records_[r].size()));
    const auto segment =
        kernels::SegmentPositions::make({member.base, rounds(), steps, member.omitted}, counts, plan_.steps_max);
    ensure(segment.has_value(), "a segment from the member's base to the present round");
    const kernels::MemberInputs inputs{seed_, kernels::member_seed(seed_, member.run), datasets_};
    auto metrics =
        executor_.run(member.state, *segment, 0, segment->count(), inputs,
                      [this](std::uint64_t record, std::uint32_t number) { return message(record, number); });
    member.base = rounds();
    member.omitted.reset();
    return metrics;
}

std::vector<std::vector<std::vector<kernels::Metric>>> LocalGroup::play(const std::vector<MemberTurn>& turns) {
    ensure(turns.size() == members_.size(), "a turn for each member");
    std::vector<std::vector<std::vector<kernels::Metric>>> metrics;
    std::vector<Entry> record;
    for (std::size_t i = 0; i < turns.size(); ++i) {
        metrics.emplace_back();
        if (turns[i].steps == 0) continue;
        Member& member = members_[i];
        metrics.back() = train(member, turns[i].steps);
        if (!turns[i].recorded) {
            member.omitted = rounds();
            continue;
        }
        Entry entry{member.run, turns[i].steps, {}};
        for (const std::uint32_t t : plan_.public_tensors) entry.tensors.push_back(member.state.tensors[t]);
        record.push_back(std::move(entry));
    }
    records_.push_back(std::move(record));
    return metrics;
}

const State& LocalGroup::catch_up(std::uint32_t member) {
    train(members_[member], 0);
    return members_[member].state;
}

void LocalGroup::join(std::uint32_t from) {
    ensure(members_[from].base == rounds(), "a member that has caught up");
    std::vector<const kernels::Tensor*> shared;
    for (std::uint32_t t = 0; t < plan_.shared; ++t) shared.push_back(&members_[from].state.tensors[t]);
    members_.push_back({members(), rounds(), {}, executor_.enter(rounds(), shared, seed_)});
}

kernels::StateCommitment LocalGroup::commit(std::uint32_t member) const {
    return kernels::commit_state(root_, members_[member].state, pool_);
}

std::uint64_t LocalGroup::message_bytes() const noexcept {
    std::uint64_t out = 0;
    for (const std::uint32_t t : plan_.public_tensors) out += members_[0].state.tensors[t].data.size();
    return out;
}

}  // namespace retrace::solver
