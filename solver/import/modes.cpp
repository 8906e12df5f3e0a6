// SPDX-License-Identifier: MIT
#include <set>

#include "solver/import/mapping.hpp"

namespace retrace::solver {
namespace {

using Kind = Argument::Kind;

/// Whether an op was told that this is training; nothing where it is the same in both modes.
std::optional<bool> told_to_train(const RecordedOp& op) {
    const auto flag = [&](std::size_t i) -> std::optional<bool> {
        if (i >= op.arguments.size() || op.arguments[i].kind != Kind::boolean) return std::nullopt;
        return op.arguments[i].integers.at(0) != 0;
    };
    const bool drops = op.name == "aten::dropout" || op.name == "aten::feature_dropout";
    if (drops) {
        const bool something = op.arguments.size() > 1 && op.arguments[1].number != 0;
        return something ? flag(2) : std::nullopt;
    }
    const bool keeps_statistics =
        op.name == "aten::batch_norm" && op.arguments.size() > 5 && op.arguments[3].kind == Kind::value;
    return keeps_statistics ? flag(5) : std::nullopt;
}

}  // namespace

std::vector<std::string> fixed_modes(const RecordedModel& model) {
    std::set<std::string> out;
    for (const bool training : {true, false}) {
        for (const RecordedOp& op : (training ? model.train : model.eval).ops) {
            const std::optional<bool> told = told_to_train(op);
            if (!told || *told == training) continue;
            out.insert(op.name + " in " + op.where +
                       (training ? " is off while the model trains" : " trains while the model is evaluated") +
                       ", as when the file was traced; torch.jit.script keeps both modes");
        }
    }
    return {out.begin(), out.end()};
}

}  // namespace retrace::solver
