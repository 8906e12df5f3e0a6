// SPDX-License-Identifier: MIT
#include "tests/simulation/group_truth.hpp"

#include "contracts/records/group_positions.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/views.hpp"
#include "node/agents/group_views.hpp"
#include "solver/rounds/group_view.hpp"
#include "solver/rounds/plan_runner.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;

/// Finds tensors by their roots; remembers whether one was missing.
class Tensors {
public:
    explicit Tensors(const SentTensors& sent) : sent_(sent) {}
    std::vector<const kernels::Tensor*> find(const std::vector<Hash32>& roots) {
        std::vector<const kernels::Tensor*> out;
        for (const Hash32& root : roots) {
            const auto found = sent_.find(root);
            if (found == sent_.end()) return {};
            out.push_back(&found->second);
        }
        return out;
    }

private:
    const SentTensors& sent_;
};

/// Whether all messages that the segment takes in are known.
bool are_known(const ledger::StateView& view, std::uint64_t task, std::uint32_t run,
               const kernels::SegmentSpan& segment, std::uint8_t attempt, Tensors& tensors) {
    for (auto round = static_cast<std::uint32_t>(segment.from); round < segment.base; ++round) {
        const auto record = views::record_read(view, task, run, round, attempt, segment);
        for (const market::RoundEntry& entry : record->entries)
            if (tensors.find(views::round_message(view, task, round, entry.run)->tensors).empty()) return false;
    }
    return true;
}

}  // namespace

std::vector<Hash32> true_roots_of_member(const GroupKind& kind, const ledger::StateView& view, const market::Run& run,
                                         const Sent& sent, const std::vector<kernels::Tensor>& sets,
                                         kernels::ThreadPool& pool) {
    const auto spec = views::spec(view, run.task);
    const auto member = views::member(view, run.task, run.index);
    if (!spec || !member) return {};
    std::vector<const kernels::Tensor*> data;
    for (const kernels::Tensor& tensor : sets) data.push_back(&tensor);
    const auto make = [&](const kernels::Program& program, kernels::Inputs inputs) {
        return std::make_unique<solver::ProgramRunner>(program, std::move(inputs), pool);
    };
    solver::PlanRunner runner(*kind.plan, spec->seed, data, make, pool);
    Tensors tensors(sent.tensors);
    const auto anchor = tensors.find(member->anchor);
    if (anchor.size() != member->anchor.size()) return {};
    std::vector<kernels::State> states{
        *(member->anchor.empty() ? runner.init() : runner.enter(member->entered, anchor))};
    std::vector<Hash32> out{kernels::commit_state(kind.plan->root(), states[0], pool).root};
    std::uint8_t attempt = 0;
    kernels::SegmentSpan span;
    std::vector<kernels::MaskRow> masks;  // Of the segment's message.
    kernels::Tensor table;
    const auto message = [&](const kernels::Position& at) {
        if (at.phase == kernels::Phase::mask) return solver::mask_message(masks, at, table);
        const auto round =
            *views::record_read(view, run.task, run.index, static_cast<std::uint32_t>(at.record), attempt, span);
        if (at.phase == kernels::Phase::unmask) return solver::mask_message(node::mask_rows(round.masks), at, table);
        const market::RoundEntry& entry = round.entries.at(at.message);
        const auto posted = views::round_message(view, run.task, round.index, entry.run);
        return kernels::Message{{entry.weight, round.total, entry.age, entry.steps}, tensors.find(posted->tensors)};
    };
    for (std::uint64_t i = 0; i + 1 < run.next_state; ++i) {
        const auto segment = views::member_segment(view, run.task, run.index, i);
        const auto positions = contracts::positions_of(view, run.task, run.index, i);
        attempt = views::attempt_of(view, run.task, run.index, i);
        if (!segment || !positions) break;
        span = positions->span();
        if (!are_known(view, run.task, run.index, span, attempt, tensors)) break;
        if (segment->masks != 0) {
            const auto sent_message = views::round_message(view, run.task, segment->base + segment->age, run.index);
            const auto found = sent.masks.find(sent_message->mask_root);
            if (found == sent.masks.end()) break;
            masks = found->second;
        }
        kernels::State state = states.at(views::start_of_segment(view, run.task, run.index, i));
        (void)runner.run(state, *positions, 0, positions->count(), run.index, message);
        out.push_back(kernels::commit_state(kind.plan->root(), state, pool).root);
        states.push_back(std::move(state));
    }
    return out;
}

}  // namespace retrace::sim
