// SPDX-License-Identifier: MIT
#include "kernels/cuda/layout.hpp"

#include <algorithm>

#include "kernels/cuda/trees.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels::cuda {
namespace {

class Carver {
public:
    std::uint64_t take(std::uint64_t bytes) {
        const std::uint64_t at = bytes_;
        bytes_ += std::max<std::uint64_t>(aligned_bytes(bytes),
                                          256);  // nothing shares an address, not even nothings
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

std::vector<DeviceCommitter::Entry> committed_tensors(const Program& program,
                                                      const std::vector<std::uint8_t*>& at) {
    std::vector<DeviceCommitter::Entry> out;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const TensorRecord& record = program.tensors[i];
        out.push_back({at.empty() ? nullptr : at[i], record.dtype, record.dims, record.writer != kNoWriter});
    }
    return out;
}

Layout lay_out(const Program& program, const std::vector<OpFacts>& facts, const MemoryPlan& plan) {
    Layout out;
    Carver carver;
    std::vector<DeviceTrees::Entry> states;
    for (std::uint32_t i = 0; i < program.tensors_static(); ++i) {
        out.statics.push_back(carver.take(tensor_bytes(program.tensors[i])));
        if (i < program.states)
            states.push_back({nullptr, program.tensors[i].dtype, program.tensors[i].dims});
    }
    out.workspace_bytes = DeviceTrees(std::move(states)).bytes();
    for (std::uint32_t op = 0; op < facts.size(); ++op) {
        if (is_elementwise(facts[op].op.code)) ++out.steps;
        if (is_metric(program.tensors[program.output_of(op)])) out.metrics.push_back(op);
        out.workspace_bytes = std::max(out.workspace_bytes, workspace_bytes(facts[op]));
    }
    out.clock = carver.take(8);
    out.element_steps = carver.take(out.steps * sizeof(ElementStep));
    out.metric_values = carver.take(4 * out.metrics.size());
    out.workspace = carver.take(out.workspace_bytes);
    out.commitment = carver.take(DeviceCommitter(committed_tensors(program, {}), nullptr).bytes());
    out.arena = carver.take(plan.bytes);
    out.bytes = carver.bytes();
    return out;
}

std::vector<std::uint8_t*> addresses(const Program& program, const MemoryPlan& plan, const Layout& layout,
                                     std::uint8_t* statics, std::uint8_t* arena) {
    std::vector<std::uint8_t*> at(program.tensors.size());
    std::uint32_t t = 0;
    for (; t < program.tensors_static(); ++t) at[t] = statics + layout.statics[t];
    for (const Place& place : plan.places) {
        if (place.where == Place::Where::arena) at[t] = arena + place.at;
        if (place.where == Place::Where::state || place.where == Place::Where::alias) at[t] = at[place.at];
        ++t;
    }
    return at;
}

ElementStep placed_step(const Program& program, const OpFacts& facts, std::uint32_t op,
                        const MemoryPlan& plan, const std::vector<std::uint8_t*>& at) {
    const auto put = [&](ElementSide& side, std::uint32_t tensor) {
        side.data = at[tensor];
        if (side.data != nullptr) return;
        const Place& place = plan.places[tensor - program.tensors_static()];
        ensure(place.where == Place::Where::scratch && place.at < kElementSlots,
               "a value in memory or in a slot");
        side.slot = static_cast<std::uint32_t>(place.at);
    };
    ElementStep step = element_step(facts);
    for (std::uint32_t i = 0; i < step.inputs; ++i) put(step.sides[i], facts.op.inputs[i]);
    put(step.result, program.output_of(op));
    return step;
}

}  // namespace retrace::kernels::cuda
