// SPDX-License-Identifier: MIT
#include "kernels/builder/embed.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::kernels {

std::vector<Value> embed(Graph& g, const Program& program, const std::vector<Value>& states) {
    ensure(states.size() == program.states, "a value for each state tensor");
    std::vector<Value> values = states;  // by tensor number
    std::uint32_t constant = 0;
    for (std::uint32_t t = program.states; t < program.tensors_static(); ++t) {
        const TensorRecord& record = program.tensors[t];
        values.push_back(record.kind == TensorKind::constant
                             ? g.constant(record.dtype, record.dims, program.constant_data[constant++].data)
                             : g.dataset(record.name, record.dtype, record.dims));
    }
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const OpRecord& op = program.ops[i];
        const TensorRecord& record = program.tensors[program.output_of(i)];
        std::vector<Value> inputs;
        for (const std::uint32_t input : op.inputs) inputs.push_back(values[input]);
        values.push_back(g.op(op.code, std::move(inputs), op.attributes, {record.dtype, record.dims}, op.stream));
        if (!record.name.empty()) g.set_metric(values.back(), record.name);
    }
    std::vector<Value> next;
    for (std::uint32_t t = 0; t < program.states; ++t) {
        const std::uint32_t writer = program.tensors[t].writer;
        next.push_back(writer == kNoWriter ? states[t] : values[program.output_of(writer)]);
    }
    return next;
}

}  // namespace retrace::kernels
