// SPDX-License-Identifier: MIT
#include "node/service/receipt_check.hpp"

#include <algorithm>

#include "contracts/views/views.hpp"
#include "kernels/commit/commitment.hpp"
#include "node/artifacts/peer_source.hpp"
#include "solver/artifacts/artifact_source.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/train/schedule.hpp"
#include "solver/train/trainer.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;

Unexpected<Error> differs(const std::string& field) {
    return error("the receipt's " + field + " is not the ledger's");
}

Status<> check_terms(const Receipt& receipt, const market::TaskSpec& spec, const market::Task& task) {
    if (receipt.program != spec.program_root) return differs("program");
    if (receipt.init != spec.init_root) return differs("initialiser");
    if (receipt.data != spec.data_roots) return differs("data");
    if (receipt.contract != spec.contract_hash) return differs("numeric contract");
    if (receipt.seed != spec.seed || receipt.steps != spec.steps || receipt.interval != spec.interval) {
        return differs("schedule");
    }
    if (receipt.requester != ledger::to_0x(task.requester)) return differs("requester");
    if (receipt.posted_height != task.posted_height) return differs("height of posting");
    const bool delivered =
        task.state == market::TaskState::settled || task.state == market::TaskState::delivering;
    if (!delivered)
        return error("task " + std::to_string(receipt.task) + " is " + std::string(market::slug(task.state)));
    return Unit{};
}

/// The run in which state `index` was opened with this root at this height.
std::optional<std::uint32_t> run_of(const ProvenState& state, const Receipt& receipt,
                                    const market::Task& task, const Receipt::State& entry) {
    for (std::uint32_t run = 0; run < task.runs; ++run) {
        const auto checkpoint = views::checkpoint(state, receipt.task, run, entry.index);
        if (checkpoint && checkpoint->opened && checkpoint->root == entry.root &&
            checkpoint->open_height == entry.height) {
            return run;
        }
    }
    return std::nullopt;
}

/// Counts the segment that ends in a state of this run by what became of its audit.
void count_segment(const ProvenState& state, const Receipt& receipt, std::uint32_t run, std::uint64_t index,
                   CheckedReceipt& out) {
    const auto segment = views::segment(state, receipt.task, run, index);
    if (!segment) return;
    if (segment->state == market::SegmentState::verified) ++out.verified;
    else if (segment->audit == 0) ++out.not_drawn;
    else ++out.unaudited;
}

/// How many verdicts matched.
Result<std::size_t> check_audit(const ProvenState& state, const Receipt& receipt, const market::Task& task,
                                const Receipt::Audit& entry) {
    for (std::uint32_t run = 0; run < task.runs; ++run) {
        const auto segment = views::segment(state, receipt.task, run, entry.segment);
        const auto audit =
            segment && segment->audit != 0 ? views::audit(state, segment->audit) : std::nullopt;
        if (!audit) continue;
        std::vector<std::string> matched;
        for (const market::Seat& seat : audit->seats) {
            if (seat.state == market::SeatState::matched) matched.push_back(ledger::to_0x(seat.auditor));
        }
        if (matched == entry.auditors) return matched.size();
    }
    return differs("audit of segment " + std::to_string(entry.segment));
}

}  // namespace

Result<CheckedReceipt> check_receipt(const Receipt& receipt, const ProvenState& state) {
    const auto spec = views::spec(state, receipt.task);
    const auto task = views::task(state, receipt.task);
    if (state.failure()) return error(*state.failure());
    if (!spec || !task) return error("the ledger has no task " + std::to_string(receipt.task));
    RETRACE_CHECK(check_terms(receipt, *spec, *task));
    if (receipt.states.empty() || receipt.states.back().index != spec->segments()) {
        return error("the receipt lacks the last state");
    }
    CheckedReceipt out;
    std::optional<std::uint32_t> last;
    for (const Receipt::State& entry : receipt.states) {
        last = run_of(state, receipt, *task, entry);
        if (!last) return differs("state " + std::to_string(entry.index));
        ++out.states;
        if (entry.index != 0) count_segment(state, receipt, *last, entry.index - 1, out);
    }
    const auto run = views::run(state, receipt.task, *last);
    if (!run || receipt.solver != ledger::to_0x(run->solver)) return differs("solver");
    for (const Receipt::Audit& entry : receipt.audits) {
        RETRACE_TRY(matched, check_audit(state, receipt, *task, entry));
        out.auditors += matched;
        ++out.audits;
    }
    if (state.failure()) return error(*state.failure());
    return out;
}

Status<> require_audits(const CheckedReceipt& checked, const Receipt& receipt) {
    const std::uint64_t segments = receipt.states.back().index;
    const auto is_audited = [&](std::uint64_t segment) {
        return std::any_of(receipt.audits.begin(), receipt.audits.end(), [&](const Receipt::Audit& audit) {
            return audit.segment == segment && !audit.auditors.empty();
        });
    };
    for (const std::uint64_t segment : {std::uint64_t{0}, segments - 1})
        if (!is_audited(segment)) return error("nobody audited segment " + std::to_string(segment));
    if (checked.unaudited != 0)
        return error(std::to_string(checked.unaudited) + " segments were drawn and paid though nobody audited them");
    return Unit{};
}

Result<std::vector<StepLoss>> replay_segment(const Receipt& receipt, std::size_t segment,
                                             const std::vector<std::string>& peers, Store& store,
                                             ArtifactClient& fetcher) {
    const Receipt::State &from = receipt.states.at(segment), &to = receipt.states.at(segment + 1);
    PeerSource source(store, fetcher, [&peers] { return peers; });
    kernels::ThreadPool pool;
    RETRACE_TRY(program, solver::fetch_program(source, receipt.program, store.options().program_bytes));
    auto data = solver::fetch_data(source, program->program(), receipt.data, pool);
    if (!data) return error(data.error().message);
    const solver::Schedule schedule{receipt.steps, receipt.interval};
    auto state = solver::fetch_state(source, *program, from.root, schedule.step_of(from.index), pool);
    if (!state)
        return error("state " + std::to_string(from.index) + " cannot be fetched: " + state.error().message);
    kernels::Inputs inputs;
    inputs.seed = receipt.seed;
    for (const kernels::Tensor& tensor : *data) inputs.datasets.push_back(&tensor);
    solver::ProgramRunner runner(program->program(), inputs, pool);
    std::vector<StepLoss> losses;
    while (state->step < schedule.step_of(to.index)) {
        const std::uint64_t step = state->step;
        for (const kernels::Metric& metric : runner.step(*state)) {
            if (metric.name == "loss") losses.push_back({step, metric.value});
        }
    }
    if (kernels::commit_state(program->root(), *state, pool).root != to.root) {
        return error("segment " + std::to_string(from.index) +
                     " was replayed and ends in another state than the receipt says");
    }
    return losses;
}

}  // namespace retrace::node
