// SPDX-License-Identifier: MIT
#include "solver/import/op_table.hpp"

#include <map>

namespace retrace::solver {

const ImportedOp* find_op(const std::string& name) {
    static const std::map<std::string_view, ImportedOp> table = [] {
        std::map<std::string_view, ImportedOp> all;
        for (const auto family : {activation_ops, arithmetic_ops, convolution_ops, index_ops, layer_ops, recurrent_ops,
                                  reduction_ops, resize_ops, shape_ops})
            for (const ImportedOp& op : family()) all.emplace(op.name, op);
        return all;
    }();
    const auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
}

Status<> check_signature(const ImportedOp& op, const Recording& recording, const RecordedOp& call, Expense& expense) {
    CallShape shape(recording, call, expense);
    RETRACE_CHECK(shape.check(op.arguments, op.results));
    RETRACE_CHECK(shape.takes({1 + call.results.size()}));
    return op.check == nullptr ? Status<>(Unit{}) : op.check(shape);
}

bool takes_types_of(const ImportedOp& op, Call& call) {
    if (op.types == TensorTypes::any) return true;
    for (std::size_t i = 0; i < call.count(); ++i) {
        const Argument::Kind kind = call.kind(i);
        if (kind == Argument::Kind::value && call.dtype(call.tensor(i)) != kernels::DType::f32) return false;
        if (kind != Argument::Kind::values) continue;
        for (const kernels::Value value : call.tensors(i))
            if (call.dtype(value) != kernels::DType::f32) return false;
    }
    return true;
}

}  // namespace retrace::solver
