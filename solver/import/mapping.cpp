// SPDX-License-Identifier: MIT
#include "solver/import/mapping.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "kernels/builder/compose.hpp"
#include "solver/import/op_table.hpp"
#include "solver/import/outputs.hpp"

namespace retrace::solver {
namespace {

using kernels::DType;
using kernels::ModelOutput;
using kernels::Value;

/// Largest number of refusals that are printed.
constexpr std::size_t kRefusalsMax = 100;

/// Values of the recording that make the state of the task. They are chosen once, for training and evaluation alike.
struct States {
    std::vector<std::uint32_t> values;  ///< Numbers in either recording.
    std::vector<bool> trained;
};

struct Plan {
    RecordedModel model;
    MappingOptions options;
    States states;
};

bool is_norm_with_statistics(const RecordedOp& op) {
    return op.name == "aten::batch_norm" && op.arguments.size() > 5 &&
           op.arguments[5].kind == Argument::Kind::boolean && op.arguments[5].integers.at(0) != 0;
}

/// Values through which the output depends on something by a gradient.
std::set<std::uint32_t> reached(const Recording& recording) {
    std::set<std::uint32_t> out{recording.output};
    for (auto op = recording.ops.rbegin(); op != recording.ops.rend(); ++op) {
        const bool leads = std::any_of(op->results.begin(), op->results.end(),
                                       [&](std::uint32_t result) { return out.contains(result); });
        if (!leads || op->name == "aten::detach") continue;
        if (op->detached) {
            if (op->overwritten != kNoArgument) out.insert(op->arguments[op->overwritten].values.at(0));
            continue;
        }
        for (const Argument& argument : op->arguments) out.insert(argument.values.begin(), argument.values.end());
    }
    return out;
}

/// Buffers that training changes.
std::set<std::uint32_t> changed_buffers(const Recording& recording) {
    std::set<std::uint32_t> out;
    for (const auto& [buffer, next] : recording.updates) out.insert(buffer);
    for (const RecordedOp& op : recording.ops) {
        if (!is_norm_with_statistics(op)) continue;
        for (const std::size_t i : {3, 4}) out.insert(op.arguments[i].values.begin(), op.arguments[i].values.end());
    }
    return out;
}

States choose_states(const Recording& recording) {
    const std::set<std::uint32_t> in_gradient = reached(recording), changed = changed_buffers(recording);
    States out;
    for (std::uint32_t i = 0; i < recording.values.size(); ++i) {
        const RecordedValue& value = recording.values[i];
        const bool is_parameter = value.kind == ValueKind::parameter || value.kind == ValueKind::frozen;
        if (value.dtype != DType::f32 || (!is_parameter && !changed.contains(i))) continue;
        if (value.kind != ValueKind::buffer && !is_parameter) continue;
        out.values.push_back(i);
        out.trained.push_back(value.kind == ValueKind::parameter && in_gradient.contains(i));
    }
    return out;
}

bool is_matrix_product(const RecordedOp& op) {
    return op.name == "aten::linear" || op.name == "aten::matmul" || op.name == "aten::mm" || op.name == "aten::addmm";
}

/// The last product that the output depends on.
const RecordedOp* head_of(const Recording& recording) {
    const std::set<std::uint32_t> in_gradient = reached(recording);
    for (auto op = recording.ops.rbegin(); op != recording.ops.rend(); ++op) {
        if (is_matrix_product(*op) && !op->results.empty() && in_gradient.contains(op->results[0])) return &*op;
    }
    return nullptr;
}

/// For each value whether an op reads it or it is the output.
std::vector<bool> used_in(const Recording& recording) {
    std::vector<bool> out(recording.values.size(), false);
    out[recording.output] = true;
    for (const RecordedOp& op : recording.ops)
        for (const Argument& argument : op.arguments)
            for (const std::uint32_t value : argument.values) out[value] = true;
    return out;
}

class TapeWriter {
public:
    TapeWriter(kernels::Tape& tape, const Plan& plan, bool training)
        : tape_(tape),
          graph_(tape.graph()),
          plan_(plan),
          recording_(training ? plan.model.train : plan.model.eval),
          used_(used_in(recording_)) {
        for (const auto& [buffer, next] : recording_.updates) next_.insert(next);
    }

    Result<ModelOutput> write(Value x) {
        for (const RecordedValue& value : recording_.values) {
            const bool same = value.dtype == graph_.shape(x).dtype &&
                              kernels::geometry(value.dims).elements() == graph_.matrix(x).elements();
            if (value.kind == ValueKind::input && !same) return error("the recorded input is no batch of samples");
        }
        declare_states();
        place_values(x);
        const RecordedOp* const head =
            plan_.options.loss == kernels::LossKind::cross_entropy ? head_of(recording_) : nullptr;
        for (const RecordedOp& op : recording_.ops) apply(op, &op == head);
        if (!refusals_.empty()) return error(list());
        for (const auto& [buffer, next] : recording_.updates) values_[buffer] = values_.at(next);
        for (const auto& [buffer, state] : states_) {
            const Value next = values_.at(buffer);
            if (next != state) out_.updates.emplace_back(state, as_op(next));
        }
        return finish();
    }

private:
    void declare_states() {
        for (std::size_t i = 0; i < plan_.states.values.size(); ++i) {
            const std::uint32_t number = plan_.states.values[i];
            const RecordedValue& value = recording_.values[number];
            const Value state = graph_.state(value.name, DType::f32, value.dims);
            out_.parameters.push_back({value.name, value.dims, kernels::Start::given, 0.0f, plan_.states.trained[i]});
            out_.values.push_back(state);
            values_[number] = state;
            states_[number] = state;
        }
    }

    void place_values(Value x) {
        for (std::uint32_t i = 0; i < recording_.values.size(); ++i) {
            const RecordedValue& value = recording_.values[i];
            if (states_.contains(i) || value.kind == ValueKind::result) continue;
            if (value.kind == ValueKind::input) {
                values_[i] = kernels::reshape(graph_, x, value.dims);
            } else {
                values_[i] = graph_.constant(value.dtype, value.dims, value.data);
            }
        }
    }

    void apply(const RecordedOp& op, bool is_head) {
        Call call(tape_, recording_, op, values_, used_, plan_.options.precision, is_head);
        Call::Values results = written(op, call);
        check_updates(call);
        check_results(op, call, results);
        if (!call.refusal().empty()) {
            if (refusals_.size() < kRefusalsMax) refusals_.insert(op.name + " in " + op.where + ": " + call.refusal());
            results = call.refuse("");
        }
        for (std::size_t i = 0; i < op.results.size(); ++i) {
            values_[op.results[i]] = op.detached ? without_gradient(op, results[i]) : results[i];
        }
        // Ops that read a running statistic after this one see its update.
        for (const auto& [buffer, next] : call.updates()) values_[buffer] = next;
    }

    Call::Values written(const RecordedOp& op, Call& call) {
        const ImportedOp* const known = find_op(op.name);
        if (known == nullptr) return call.refuse(hint_for(op.name));
        const Status<> fits = check_signature(*known, recording_, op, expense_);
        if (!fits) return call.refuse("not as PyTorch calls it: " + fits.error().message);
        return takes_types_of(*known, call) ? known->lower(call) : call.refuse(kIntegers);
    }

    /// The result of an op under no_grad. A tensor that it overwrote keeps its gradient: autograd has seen no write.
    Value without_gradient(const RecordedOp& op, Value result) {
        if (op.overwritten == kNoArgument) return cut(result);
        const Value before = values_.at(op.arguments[op.overwritten].values.at(0));
        return tape_.note({before}, cut(result), [](Value gradient, const std::vector<bool>&) {
            return std::vector<std::optional<Value>>{gradient};
        });
    }

    /// Running statistics are buffers, as they are or as ops in place have changed them.
    void check_updates(Call& call) {
        for (const auto& [number, next] : call.updates()) {
            const bool kept = states_.contains(number) && recording_.values[number].kind == ValueKind::buffer;
            if (!kept && !next_.contains(number)) call.refuse("running statistics that are no buffers of the model");
        }
    }

    /// A rule that gave another shape than PyTorch did has misunderstood the op.
    void check_results(const RecordedOp& op, Call& call, Call::Values& results) {
        if (results.size() != op.results.size()) {
            call.refuse("another number of results");
            return;
        }
        const bool overwrites = op.overwritten != kNoArgument;
        if (overwrites && recording_.values[op.results[0]].dims !=
                              recording_.values[op.arguments[op.overwritten].values.at(0)].dims) {
            call.refuse("a write under no_grad that changes the shape");
        }
        for (std::size_t i = 0; i < results.size(); ++i) {
            const RecordedValue& wanted = recording_.values[op.results[i]];
            if (graph_.dims(results[i]) != wanted.dims || graph_.shape(results[i]).dtype != wanted.dtype) {
                call.refuse("a result of another shape");
            }
        }
    }

    Value cut(Value x) { return graph_.op(kernels::OpCode::reshape, {x}, {}, graph_.shape(x)); }
    /// The next value of a state tensor is the output of an op.
    Value as_op(Value x) { return cut(x); }

    std::string list() const {
        std::string out = "the model has ops that cannot become part of a program:";
        for (const std::string& refusal : refusals_) out += "\n  " + refusal;
        return out;
    }

    Result<ModelOutput> finish() {
        RETRACE_TRY(number, logits_of(recording_, plan_.options.loss));
        const Value output = values_.at(number);
        if (graph_.shape(output).dtype != DType::f32) return error("the model's output is not float32");
        const kernels::Dims& dims = recording_.values[recording_.output].dims;
        if (dims.empty()) return error("the model's output is one number; it must have a row for each sample");
        const kernels::Geometry shape = kernels::geometry(dims);
        if (shape.elements() == 0 || shape.elements() != graph_.matrix(output).elements())
            return error("the model's output has no elements");
        const bool by_rows = plan_.options.loss == kernels::LossKind::cross_entropy;
        const std::uint64_t rows = by_rows ? shape.rows : dims[0];
        out_.logits = kernels::view_as(tape_, output, {rows, shape.elements() / rows});
        return std::move(out_);
    }

    kernels::Tape& tape_;
    kernels::Graph& graph_;
    const Plan& plan_;
    const Recording& recording_;
    const std::vector<bool> used_;
    std::set<std::uint32_t> next_;  ///< Values that buffers become.
    Expense expense_;
    ModelOutput out_;
    Call::Lookup values_;
    std::map<std::uint32_t, Value> states_;  ///< Values at the start of the step; `values_` has the next ones.
    std::set<std::string> refusals_;
};

Result<Unit> check_names(const Plan& plan) {
    std::set<std::string> seen;
    for (const std::uint32_t number : plan.states.values) {
        const std::string& name = plan.model.train.values[number].name;
        if (name.empty() || name.size() > 100) return error("parameter \"" + name + "\": names have 1 to 100 bytes");
        if (!seen.insert(name).second) return error("two parameters are named " + name);
    }
    // An optimiser names the moments of a parameter after it.
    for (const std::string& name : seen)
        for (const char* moment : {".m", ".v", ".momentum"})
            if (seen.contains(name + moment)) return error("a parameter is named like a moment: " + name + moment);
    return Unit{};
}

}  // namespace

bool is_known(const std::string& name) { return find_op(name) != nullptr || has_hint(name); }

Result<MappedModel> map_model(RecordedModel model, const MappingOptions& options) {
    RETRACE_CHECK(check_recording(model));
    auto plan = std::make_shared<Plan>(Plan{std::move(model), options, {}});
    plan->states = choose_states(plan->model.train);
    RETRACE_CHECK(check_names(*plan));
    MappedModel out;
    for (std::size_t i = 0; i < plan->states.values.size(); ++i) {
        RecordedValue& value = plan->model.train.values[plan->states.values[i]];
        (plan->states.trained[i] ? out.parameters : out.frozen) += kernels::geometry(value.dims).elements();
        out.initial.push_back({value.name, {DType::f32, value.dims, value.data}});
    }
    if (out.parameters == 0)
        return error("the model has no parameters to train: all are frozen, or the output depends on none");
    out.source.x_dtype = options.x_dtype;
    out.source.y_dtype = options.y_dtype;
    out.source.sample = options.sample;
    out.source.target = options.target;
    out.source.tokens = options.tokens;
    out.source.classes = options.classes;
    out.source.write = [plan](kernels::Tape& tape, Value x, std::uint64_t, bool training) -> Result<ModelOutput> {
        return TapeWriter(tape, *plan, training).write(x);
    };
    return out;
}

}  // namespace retrace::solver
