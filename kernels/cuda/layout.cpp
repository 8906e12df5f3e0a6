// SPDX-License-Identifier: MIT
#include "kernels/cuda/layout.hpp"

#include <algorithm>

#include "kernels/cuda/trees.hpp"
#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels::cuda {
namespace {

class Carver {
public:
    std::uint64_t take(std::uint64_t bytes) {
        const std::uint64_t at = bytes_;
        bytes_ += std::max<std::uint64_t>(aligned_bytes(bytes),
                                          256);  // even empty tensors have distinct addresses
        return at;
    }
    std::uint64_t bytes() const { return bytes_; }

private:
    std::uint64_t bytes_ = 0;
};

bool is_metric(const TensorRecord& record) {
    return !record.name.empty() && record.dims.empty() && record.dtype == DType::f32;
}

}  // namespace

std::vector<DeviceCommitter::Entry> committed_tensors(const Program& program, const std::vector<std::uint8_t*>& at) {
    std::vector<DeviceCommitter::Entry> out;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const TensorRecord& record = program.tensors[i];
        out.push_back({at.empty() ? nullptr : at[i], record.dtype, record.dims, record.writer != kNoWriter});
    }
    return out;
}

Layout lay_out(const Program& program, const std::vector<OpFacts>& facts, const MemoryPlan& plan,
               std::optional<std::uint64_t> room) {
    Layout out;
    Carver carver;
    std::vector<DeviceTrees::Entry> states;
    for (std::uint32_t i = 0; i < program.tensors_static(); ++i) {
        const bool is_state = i < program.states;
        out.statics.push_back(carver.take(is_state && room ? 0 : tensor_bytes(program.tensors[i])));
        if (is_state && !room) states.push_back({nullptr, program.tensors[i].dtype, program.tensors[i].dims});
    }
    out.workspace_bytes = DeviceTrees(std::move(states)).bytes();
    for (const PlanUnit& unit : plan.units) {
        for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
            if (plan.places[op].where == BufferLocation::Where::alias) continue;
            if (unit.fused_run != kNoFusedRun) {
                ++out.fused_run_steps;
            } else if (is_elementwise(facts[op].op.code)) {
                ++out.steps;
            }
        }
    }
    for (std::uint32_t op = 0; op < facts.size(); ++op) {
        if (is_metric(program.tensors[program.output_of(op)])) out.metrics.push_back(op);
        out.workspace_bytes = std::max(out.workspace_bytes, workspace_bytes(facts[op]));
    }
    out.clock = carver.take(8);
    out.element_steps = carver.take(out.steps * sizeof(ElementStep));
    out.row_steps = carver.take(out.fused_run_steps * sizeof(RowStep));
    out.metric_values = carver.take(4 * out.metrics.size());
    for (const FusedRun& fused_run : plan.fused_runs) {
        if (fused_run.bytes > kSharedRowBytes)
            out.slab_bytes = std::max(out.slab_bytes, slab_blocks(fused_run.parts, fused_run.bytes) * fused_run.bytes);
    }
    out.slab = carver.take(out.slab_bytes);
    out.workspace = carver.take(out.workspace_bytes);
    if (!room) out.commitment = carver.take(DeviceCommitter(committed_tensors(program, {}), nullptr).bytes());
    out.arena = carver.take(room.value_or(plan.bytes));
    out.bytes = carver.bytes();
    return out;
}

std::vector<std::uint8_t*> addresses(const Program& program, const MemoryPlan& plan, const Layout& layout,
                                     std::uint8_t* statics, std::uint8_t* arena) {
    std::vector<std::uint8_t*> at(program.tensors.size());
    std::uint32_t t = 0;
    for (; t < program.tensors_static(); ++t) at[t] = statics + layout.statics[t];
    for (const BufferLocation& place : plan.places) {
        if (place.where == BufferLocation::Where::arena) at[t] = arena + place.at;
        if (place.where == BufferLocation::Where::state || place.where == BufferLocation::Where::alias)
            at[t] = at[place.at];
        ++t;
    }
    return at;
}

std::vector<std::uint32_t> owners_of(const Program& program, const MemoryPlan& plan) {
    std::vector<std::uint32_t> owners(program.tensors.size());
    for (std::uint32_t t = 0; t < owners.size(); ++t) {
        const BufferLocation* place = program.is_op_output(t) ? &plan.places[t - program.tensors_static()] : nullptr;
        const bool alias = place != nullptr && place->where == BufferLocation::Where::alias;
        owners[t] = alias ? owners[place->at] : t;  // an alias comes after its target
    }
    return owners;
}

std::vector<RowStep> placed_row_steps(const Program& program, const std::vector<OpFacts>& facts, const MemoryPlan& plan,
                                      const PlanUnit& unit, const std::vector<std::uint8_t*>& at,
                                      const std::vector<std::uint32_t>& owners) {
    const std::uint64_t rows = plan.fused_runs[unit.fused_run].parts;
    const auto side_of = [&](std::uint32_t tensor, Spread spread, std::uint64_t cols) {
        const TensorRecord& record = program.tensors[tensor];
        const Geometry shape = geometry(record.dims);
        RowSide side;
        side.data = at[tensor];
        side.size = static_cast<std::uint8_t>(size_of(record.dtype));
        side.each = spread == Spread::full || spread == Spread::row;
        if (side.data == nullptr) {
            const BufferLocation& place = plan.places[owners[tensor] - program.tensors_static()];
            ensure(place.where == BufferLocation::Where::chunk, "a value in memory or in the fused run's own");
            side.at = static_cast<std::uint32_t>(place.at);
        } else if (spread == Spread::full || spread == Spread::column) {
            side.stride = shape.elements() / rows * side.size;
        } else if (spread == Spread::row && shape.cols != cols) {
            side.stride = cols * side.size;
            side.period = shape.cols / cols;
        }
        side.quads = side.each && side.size == 4 && side.stride % 16 == 0;
        return side;
    };
    std::vector<RowStep> steps;
    for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
        if (plan.places[op].where == BufferLocation::Where::alias) continue;
        const OpFacts& own = facts[op];
        const Geometry shape = geometry(own.output.dims);
        const bool elementwise = is_elementwise(own.op.code);
        RowStep step;
        step.code = own.op.code;
        step.in = own.inputs[0].dtype;
        step.out = own.output.dtype;
        step.inputs = static_cast<std::uint32_t>(own.inputs.size());
        step.cols = elementwise ? shape.elements() / rows : geometry(own.inputs[0].dims).cols;
        for (std::uint32_t i = 0; i < step.inputs; ++i) {
            const Geometry operand = geometry(own.inputs[i].dims);
            step.sides[i] =
                side_of(own.op.inputs[i], elementwise ? *spread_of(shape, operand) : Spread::full, step.cols);
        }
        step.result = side_of(program.output_of(op), Spread::full, step.cols);
        const auto whole = [](const RowSide& side) { return side.quads || (!side.each && side.size == 4); };
        step.by_quads = elementwise && step.cols % 4 == 0 && step.result.quads &&
                        std::all_of(step.sides, step.sides + step.inputs, whole);
        steps.push_back(step);
    }
    return steps;
}

ElementStep placed_step(const Program& program, const OpFacts& facts, std::uint32_t op, const MemoryPlan& plan,
                        const std::vector<std::uint8_t*>& at) {
    const auto put = [&](ElementSide& side, std::uint32_t tensor) {
        side.data = at[tensor];
        if (side.data != nullptr) return;
        const BufferLocation& place = plan.places[tensor - program.tensors_static()];
        ensure(place.where == BufferLocation::Where::scratch && place.at < kElementSlots,
               "a value in memory or in a slot");
        side.slot = static_cast<std::uint32_t>(place.at);
    };
    ElementStep step = element_step(facts);
    for (std::uint32_t i = 0; i < step.inputs; ++i) put(step.sides[i], facts.op.inputs[i]);
    put(step.result, program.output_of(op));
    return step;
}

}  // namespace retrace::kernels::cuda
