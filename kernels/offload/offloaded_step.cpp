// SPDX-License-Identifier: MIT
#include "kernels/offload/offloaded_step.hpp"

#include <cstring>

#include "kernels/offload/transfer_thread.hpp"
#include "kernels/scalar/float_environment.hpp"

namespace retrace::kernels {

void OffloadedStep::find_addresses(std::uint32_t unit, const std::uint8_t* room, UnitRunner::Addresses& at) const {
    const auto set = [&](std::uint32_t tensor) {
        for (const Placement& placement : offload_.units[unit])
            if (placement.block == offload_.block_of[tensor]) at[tensor] = room + placement.at;
    };
    const Program& program = runner_.program();
    const auto& units = runner_.plan().units;
    if (unit >= units.size()) {
        const std::uint32_t state = offload_.copies[unit - units.size()];
        set(state);
        return set(program.output_of(program.tensors[state].writer));
    }
    for (std::uint32_t op = units[unit].first; op < units[unit].end(); ++op) {
        for (const std::uint32_t input : program.ops[op].inputs) set(input);
        set(program.output_of(op));
    }
}

void OffloadedStep::copy_state(std::uint32_t state, const UnitRunner::Addresses& at) const {
    const TensorRecord& record = runner_.program().tensors[state];
    // The const_cast is allowed: the state tensor's place in the room is ours.
    std::memcpy(const_cast<std::uint8_t*>(at[state]), at[runner_.program().output_of(record.writer)],
                geometry(record.dims).elements() * size_of(record.dtype));
}

Status<> OffloadedStep::run(StateStore& store, std::uint8_t* room, const Inputs& inputs, const UnitRunner::Step& step,
                            const AfterOp& after) const {
    const FloatEnvironment contract;
    const Program& program = runner_.program();
    UnitRunner::Addresses at(program.tensors.size());
    for (std::uint32_t i = 0; i < program.constants; ++i) at[program.states + i] = program.constant_data[i].data.data();
    for (std::uint32_t i = 0; i < program.datasets; ++i)
        at[program.states + program.constants + i] = inputs.datasets[i]->data.data();
    const std::vector<std::uint32_t> owners = memory_owners(program, runner_.plan());
    for (std::uint32_t t = 0; t < at.size(); ++t) at[t] = at[owners[t]];

    waited_ = 0;
    TransferThread transfers(offload_, [&](const Transfer& transfer, const OffloadBlock& block) {
        return store.run(transfer, block, room);
    });
    const auto& units = runner_.plan().units;
    bool left = false;
    for (std::uint32_t unit = 0; unit < offload_.units.size() && !left; ++unit) {
        waited_ += transfers.wait_for(offload_.needed[unit]);
        if (transfers.failed()) break;
        find_addresses(unit, room, at);
        if (unit >= units.size()) {
            copy_state(offload_.copies[unit - units.size()], at);
        } else {
            if (units[unit].fused_run != kNoFusedRun) step.own.begin(at);
            runner_.run(unit, at, step);
            for (std::uint32_t op = units[unit].first; op < units[unit].end() && !left; ++op)
                left = !after(op, at[program.output_of(op)]);
        }
        transfers.unit_done();
    }
    if (!left) waited_ += transfers.wait_for(static_cast<std::uint32_t>(offload_.transfers.size()));
    return transfers.stop();
}

}  // namespace retrace::kernels
