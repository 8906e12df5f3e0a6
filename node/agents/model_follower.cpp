// SPDX-License-Identifier: MIT
#include "node/agents/model_follower.hpp"

#include <algorithm>
#include <stdexcept>

#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "node/agents/group_views.hpp"
#include "node/agents/remote_state.hpp"
#include "node/artifacts/peer_source.hpp"
#include "node/platform/printable.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;

/// Whether the segment that the message ends can be found wrong no more, or was.
bool is_decided(const ledger::StateView& view, std::uint64_t task, std::uint32_t round, std::uint32_t author) {
    const auto message = views::round_message(view, task, round, author);
    const auto run = views::run(view, task, author);
    return message && run && (message->segment < run->finalised || market::is_over(run->state));
}

}  // namespace

ModelFollower::Seen ModelFollower::read(const ledger::StateView& view, Immutable& immutable) const {
    Seen out;
    out.spec = immutable.spec(view, task_);
    out.terms = immutable.group(view, task_);
    const auto task = views::task(view, task_);
    const auto group = views::group(view, task_);
    if (!out.spec || !out.terms || !task || !group) return out;
    out.round = std::min(group->round, out.terms->rounds);
    const std::vector<market::Rollback> noted = views::rollbacks(view, task_).noted;
    out.attempt = static_cast<std::uint8_t>(noted.size());
    out.undone = market::is_void(noted, attempt_, rounds());
    const std::uint32_t first = out.undone ? 0 : rounds();
    for (std::uint32_t round = first; round < out.round; ++round) {
        auto record = immutable.record(view, task_, round);
        if (!record) continue;
        market::undo_entries(noted, out.attempt, round, *record);
        const kernels::SegmentSpan span{round, round + std::uint64_t{1}, 0, {}, 0, out.terms->regions != 0};
        kernels::keep_read_entries(*record, round, out.terms->regions, 0, span);  // Nobody merges here.
        out.records.push_back(std::move(*record));
    }
    out.final_rounds = final_rounds_;
    for (bool decided = true; decided && out.final_rounds < out.round;) {
        const auto record = views::round_at(view, task_, out.final_rounds, out.attempt);
        for (const market::RoundEntry& entry : record ? record->entries : std::vector<market::RoundEntry>{})
            decided = is_decided(view, task_, out.final_rounds, entry.run) && decided;
        decided = decided && record;
        if (decided) ++out.final_rounds;
    }
    for (const std::uint32_t index : task->active) {
        const auto run = views::run(view, task_, index);
        if (!run || run->finalised == 0) continue;
        const auto segment = views::member_segment(view, task_, index, run->finalised - 1);
        if (!segment || segment->shared.empty()) continue;
        if (views::is_void(view, task_, index, run->finalised - 1)) continue;
        Anchor at{segment->base, segment->shared};
        if (at.base >= first && at.base <= out.round) out.checks.emplace_back(index, at);
        if (!out.anchor || at.base > out.anchor->base) out.anchor = std::move(at);
    }
    out.peers = endpoints_of(view, task_);
    out.authors.add_authors(view, authors_of(task_, out.records));
    return out;
}

Status<> ModelFollower::begin(const Seen& seen, solver::ArtifactSource& source) {
    if (plan_ == nullptr) {
        auto plan = solver::fetch_plan(source, seen.spec->program_root, seen.spec->program_bytes);
        if (!plan) return error("the plan cannot be fetched: " + printable(plan.error().message));
        plan_ = std::move(*plan);
    }
    solver::TaskTerms terms;
    terms.id = task_;
    const auto make = [this, terms](const kernels::Program& program, kernels::Inputs inputs) {
        return runners_(terms, program, std::move(inputs), pool_);
    };
    solver::GroupFollower made(*plan_, seen.spec->seed, make, pool_);
    if (seen.round <= seen.terms->keep_rounds || !seen.anchor) {
        RETRACE_CHECK(made.begin());
    } else {
        std::vector<kernels::Tensor> shared;
        for (std::uint32_t t = 0; t < seen.anchor->shared.size() && t < plan_->shared(); ++t) {
            auto tensor = solver::fetch_tensor(source, plan_->states().tensors[t], seen.anchor->shared[t], pool_);
            if (!tensor) return error("a final state cannot be fetched: " + printable(tensor.error().message));
            shared.push_back(std::move(tensor).value());
        }
        RETRACE_CHECK(made.begin_at(seen.anchor->base, shared));
    }
    follower_.emplace(std::move(made));
    return Unit{};
}

Status<> ModelFollower::take_in(const solver::RecordView& record, solver::ArtifactSource& source) {
    std::vector<std::vector<kernels::Tensor>> messages;
    for (const solver::RecordView::Entry& entry : record.entries) {
        auto message = solver::fetch_message(source, *plan_, {entry.tensors, task_, entry.run}, pool_);
        if (!message)
            return error("the message of run " + std::to_string(entry.run) + " in round " +
                         std::to_string(record.round) + " cannot be fetched: " + printable(message.error().message));
        messages.push_back(std::move(message).value());
    }
    return follower_->take_in(record, messages);
}

Status<> ModelFollower::check(const Seen& seen) const {
    for (const auto& [run, end] : seen.checks)
        if (end.base == follower_->base() && end.shared != follower_->shared_roots())
            return error("the records up to round " + std::to_string(end.base) +
                         " lead to another model than the final state of run " + std::to_string(run) +
                         "; ask another node, or give --trust-height");
    return Unit{};
}

Result<bool> ModelFollower::advance(const OpenStore& open_store) {
    if (refused_) return error(*refused_);
    RETRACE_TRY(state, chain_.newest());
    Seen seen;
    Immutable immutable;
    const auto look = [&] { seen = read(state, immutable); };
    state.read_ahead(look);
    state.read(look);
    if (state.failure()) return error(state.failure()->message);
    if (!seen.spec || !seen.terms) return error("task " + std::to_string(task_) + " is no training in rounds");
    final_rounds_ = seen.final_rounds;
    attempt_ = seen.attempt;
    if (seen.undone) follower_.reset();
    // Nobody keeps the messages between its base and the records any more, as after a sleep of this machine.
    if (follower_ && seen.anchor && seen.anchor->base > follower_->base() &&
        seen.round > follower_->base() + seen.terms->keep_rounds)
        follower_.reset();
    if (follower_ && seen.records.empty()) return false;
    try {
        return take_in_all(std::move(seen), open_store);
    } catch (const std::runtime_error& failure) {
        follower_.reset();  // the state is lost
        return error(printable(failure.what()));
    }
}

Result<bool> ModelFollower::take_in_all(Seen seen, const OpenStore& open_store) {
    RETRACE_TRY(store, open_store());
    ArtifactClient fetcher(*store);
    seen.peers.push_back(chain_.client().url());
    PeerSource source(*store, fetcher, [&seen] { return PeerList(seen.peers); });
    source.ask_authors([&seen](const solver::RunKey& author) { return seen.authors.of(author, ""); });
    const bool begins = !follower_;
    if (begins) RETRACE_CHECK(begin(seen, source));
    for (const solver::RecordView& record : seen.records) {
        if (record.round < follower_->base()) continue;
        RETRACE_CHECK(take_in(record, source));
        if (const auto agrees = check(seen); !agrees) {
            refused_ = agrees.error().message;
            return error(*refused_);
        }
    }
    return begins || !seen.records.empty();
}

}  // namespace retrace::node
