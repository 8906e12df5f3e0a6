// SPDX-License-Identifier: MIT
#include "solver/rounds/group_follower.hpp"

#include "kernels/commit/commitment.hpp"

namespace retrace::solver {
namespace {

// No phase of a catch-up depends on the run: none before the inner steps follows a member's seed.
constexpr std::uint32_t kAnyRun = 0;

}  // namespace

GroupFollower::GroupFollower(const CommittedPlan& plan, std::uint64_t task_seed, PlanRunner::MakeRunner make,
                             kernels::ThreadPool& pool)
    : plan_(plan), pool_(pool), runner_(plan, task_seed, {}, std::move(make), pool) {}

Status<> GroupFollower::begin() {
    if (!plan_.has(kernels::Phase::init)) return error("the plan has no phase init");
    state_ = runner_.init();
    base_ = 0;
    return Unit{};
}

Status<> GroupFollower::begin_at(std::uint32_t base, const std::vector<kernels::Tensor>& shared) {
    if (!plan_.has(kernels::Phase::enter)) return error("the plan has no phase enter");
    if (shared.size() != plan_.shared()) return error("the state has another number of shared tensors than the plan");
    std::vector<const kernels::Tensor*> tensors;
    for (const kernels::Tensor& tensor : shared) tensors.push_back(&tensor);
    state_ = runner_.enter(base, tensors);
    base_ = base;
    return Unit{};
}

Status<> GroupFollower::take_in(const RecordView& record, const std::vector<std::vector<kernels::Tensor>>& messages) {
    if (!state_) return error("the follower has no state to begin with");
    if (record.round != base_)
        return error("the record is of round " + std::to_string(record.round) + ", and that of round " +
                     std::to_string(base_) + " is next");
    if (messages.size() != record.entries.size()) return error("the record has another number of messages");
    for (const auto& message : messages)
        if (message.size() != plan_.public_tensors().size())
            return error("a message has another number of tensors than the plan");
    RETRACE_TRY(
        positions,
        (SegmentView{{base_, base_ + std::uint64_t{1}, 0, {}, 0, plan_.has(kernels::Phase::merge_begin)}, 0, {record}}
             .positions(plan_.steps_max())));
    kernels::Tensor masks;
    const auto source = [&](const kernels::Position& at) {
        if (at.phase == kernels::Phase::unmask) return mask_message(record.masks, at, masks);
        kernels::Message out{facts_of(record, at.message), {}};
        for (const kernels::Tensor& tensor : messages.at(at.message)) out.tensors.push_back(&tensor);
        return out;
    };
    (void)runner_.run(*state_, positions, 0, positions.count(), kAnyRun, source);  // Nobody requests a stop.
    ++base_;
    return Unit{};
}

std::vector<Hash32> GroupFollower::shared_roots() const {
    std::vector<Hash32> out;
    for (std::uint32_t t = 0; t < plan_.shared(); ++t)
        out.push_back(kernels::tensor_root(state_->tensors.at(t), pool_));
    return out;
}

}  // namespace retrace::solver
