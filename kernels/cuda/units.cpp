// SPDX-License-Identifier: MIT
#include "kernels/cuda/units.hpp"

#include <algorithm>

#include "kernels/cuda/ops.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels::cuda {
namespace {

/// Returns the number of scratch slots up to the highest one that the step uses.
std::uint32_t slots_of(const ElementStep& step) {
    std::uint32_t slots = step.result.data == nullptr ? step.result.slot + 1 : 0;
    for (std::uint32_t i = 0; i < step.inputs; ++i) {
        if (step.sides[i].data == nullptr) slots = std::max(slots, step.sides[i].slot + 1);
    }
    return slots;
}

}  // namespace

std::uint64_t cols_of(const OpFacts& op) { return std::max<std::uint64_t>(geometry(op.output.dims).cols, 1); }

void queue_single(const OpFacts& op, std::uint8_t* output, const DeviceAddresses& tensors, const OpRun& run) {
    std::vector<const std::uint8_t*> inputs;
    for (const std::uint32_t input : op.op.inputs) inputs.push_back(tensors[input]);
    queue_op({op,
              inputs,
              output,
              run.seed,
              run.clock,
              run.workspace,
              {run.device.shared_limit, run.device.warpgroups, run.device.multiprocessors},
              run.stream});
}

Status<> DeviceUnits::upload(Queue& queue, const std::function<const DeviceAddresses&(std::uint32_t unit)>& at) {
    std::vector<ElementStep> steps;
    std::vector<RowStep> row_steps;
    owners_ = owners_of(program_, plan_);
    for (std::uint32_t number = 0; number < plan_.units.size(); ++number) {
        const PlanUnit& unit = plan_.units[number];
        const bool rows = unit.fused_run != kNoFusedRun;
        numbers_.push_back(static_cast<std::uint32_t>(rows ? fused_runs_.size() : runs_.size()));
        if (rows)
            add_rows(unit, at(number), row_steps);
        else if (is_elementwise(facts_[unit.first].op.code))
            add_elements(unit, at(number), steps);
    }
    ensure(steps.size() == layout_.steps && row_steps.size() == layout_.fused_run_steps, "a step for every such op");
    RETRACE_CHECK(queue.copy_in(block_ + layout_.row_steps, row_steps.data(), row_steps.size() * sizeof(RowStep)));
    return queue.copy_in(block_ + layout_.element_steps, steps.data(), steps.size() * sizeof(ElementStep));
}

void DeviceUnits::add_rows(const PlanUnit& unit, const DeviceAddresses& at, std::vector<RowStep>& steps) {
    const std::vector<RowStep> own = placed_row_steps(program_, facts_, plan_, unit, at, owners_);
    const FusedRun& fused_run = plan_.fused_runs[unit.fused_run];
    fused_runs_.push_back({static_cast<std::uint32_t>(steps.size()), static_cast<std::uint32_t>(fused_run.bytes),
                           fused_run.parts,
                           device_.recipes ? parts_of(own, fused_run.parts) : interpreted(own.size())});
    steps.insert(steps.end(), own.begin(), own.end());
}

void DeviceUnits::add_elements(const PlanUnit& unit, const DeviceAddresses& at, std::vector<ElementStep>& steps) {
    ElementRun run{static_cast<std::uint32_t>(steps.size()), 0, true, {}};
    const std::uint64_t cols = cols_of(facts_[unit.first]);
    for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
        if (!is_elementwise(facts_[op].op.code)) continue;  // a reshape, which is an alias
        steps.push_back(placed_step(program_, facts_[op], op, plan_, at));
        run.slots = std::max(run.slots, slots_of(steps.back()));
        run.by_quads = run.by_quads && goes_by_quads(steps.back(), cols);
    }
    const std::uint64_t elements = geometry(facts_[unit.first].output.dims).elements();
    run.parts = device_.recipes ? parts_of({steps.begin() + run.first, steps.end()}, elements, cols)
                                : interpreted(steps.size() - run.first);
    runs_.push_back(std::move(run));
}

void DeviceUnits::queue_run(const ElementRun& run, const OpFacts& op, Stream stream) const {
    const std::uint64_t elements = geometry(op.output.dims).elements(), cols = cols_of(op);
    const auto* const steps = reinterpret_cast<const ElementStep*>(block_ + layout_.element_steps) + run.first;
    for (const RunPart& part : run.parts) {
        if (part.recipe)
            run_element_recipe(stream, *part.recipe, part.data, elements, cols);
        else
            run_elements(stream, steps + part.first, part.count, run.slots, elements, cols, run.by_quads);
    }
}

void DeviceUnits::queue_rows(const RowRun& run, Stream stream) const {
    const auto* const steps = reinterpret_cast<const RowStep*>(block_ + layout_.row_steps) + run.first;
    for (const RunPart& part : run.parts) {
        if (part.recipe)
            run_row_recipe(stream, *part.recipe, part.data, run.rows, part.cols);
        else
            run_fused_rows(stream, steps + part.first, part.count, run.own_bytes, run.rows,
                           run.is_long() ? block_ + layout_.slab : nullptr);
    }
}

void DeviceUnits::queue(std::uint32_t number, const DeviceAddresses& at, const OpRun& run) const {
    const PlanUnit& unit = plan_.units[number];
    if (unit.fused_run != kNoFusedRun)
        queue_rows(fused_runs_[numbers_[number]], run.stream);
    else if (is_elementwise(facts_[unit.first].op.code))
        queue_run(runs_[numbers_[number]], facts_[unit.first], run.stream);
    else if (plan_.places[unit.first].where != BufferLocation::Where::alias)
        queue_single(facts_[unit.first], at[program_.output_of(unit.first)], at, run);
}

}  // namespace retrace::kernels::cuda
