// SPDX-License-Identifier: MIT
#include "kernels/exec/fused_runs.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kFirstBytesMax = 64 << 20;  ///< Maximum total bytes of the values that are computed first.

bool reduces_rows(OpCode code) {
    return code == OpCode::row_sum || code == OpCode::row_max || code == OpCode::row_argmax ||
           code == OpCode::row_argmax_pick;
}

class Finder {
public:
    Finder(const Program& program, const std::vector<BufferLocation>& places, const std::vector<std::uint32_t>& owner,
           std::uint32_t first, const FusionLimits& limits)
        : program_(program), places_(places), owner_(owner), first_(first), limits_(limits) {}

    std::optional<FusableRun> run(std::uint32_t ops_max) {
        const auto ops = static_cast<std::uint32_t>(program_.ops.size());
        while (first_ + run_.count < ops && run_.count < ops_max && take(first_ + run_.count)) ++run_.count;
        return crosses_ && linked_ ? std::optional(run_) : std::nullopt;
    }

private:
    const Dims& dims(std::uint32_t tensor) const { return program_.tensors[tensor].dims; }
    BufferLocation::Where where(std::uint32_t op) const { return places_[op].where; }
    bool is_own(std::uint32_t tensor) const { return owner_[tensor] >= program_.output_of(first_); }
    bool in_memory(std::uint32_t tensor) const {
        return !program_.is_op_output(tensor) ||
               where(tensor - program_.tensors_static()) != BufferLocation::Where::gathered;
    }

    bool reads_own(std::uint32_t op) const {
        const auto& inputs = program_.ops[op].inputs;
        return run_.count != 0 &&
               std::any_of(inputs.begin(), inputs.end(), [&](std::uint32_t input) { return is_own(input); });
    }

    /// Number of parts into which the output of `op` can be cut; 0 if the op cannot be in a run.
    std::uint64_t parts_of(std::uint32_t op) const {
        const OpCode code = program_.ops[op].code;
        const Dims& out = dims(program_.output_of(op));
        if (limits_.rows && reads_own(op) && goes_by_parts(program_, op, run_.parts)) return run_.parts;
        if (is_elementwise(code) || reduces_rows(code)) return geometry(out).rows;
        if (code != OpCode::matmul || limits_.rows) return 0;
        const Dims& columns = dims(program_.ops[op].inputs[1]);
        if (columns.end()[-2] * columns.end()[-1] > limits_.factor_max) return 0;
        std::uint64_t batch = 1;
        for (std::size_t i = 0; i + 2 < out.size(); ++i) batch *= out[i];
        return batch;
    }

    bool take(std::uint32_t op) {
        if (where(op) == BufferLocation::Where::alias) {  // an address, nothing to compute
            run_.whole.push_back(false);
            return run_.count > 0;
        }
        const std::uint64_t parts = parts_of(op), elements = geometry(dims(program_.output_of(op))).elements();
        if (where(op) != BufferLocation::Where::arena || parts < limits_.parts || elements == 0) return false;
        if (run_.count == 0) run_.parts = parts;
        if (limits_.rows && parts != run_.parts) return false;
        if (parts % run_.parts != 0 || elements * 4 / run_.parts > limits_.part_bytes) return false;
        std::vector<bool> whole;
        for (const std::uint32_t input : program_.ops[op].inputs) {
            if (!in_memory(input) || geometry(dims(input)).elements() == 0) return false;
            whole.push_back(reads_whole(op, input));
            if (whole.back() && is_own(input)) return false;
            const auto [known, is_new] = read_whole_.try_emplace(input, whole.back());
            if (!is_new && known->second != whole.back()) return false;
        }
        for (const std::uint32_t input : program_.ops[op].inputs) linked_ |= is_own(input);
        crosses_ |= !is_elementwise(program_.ops[op].code);
        run_.whole.insert(run_.whole.end(), whole.begin(), whole.end());
        return true;
    }

    bool reads_whole(std::uint32_t op, std::uint32_t input) const {
        if (!is_elementwise(program_.ops[op].code)) return false;
        const Spread spread = *spread_of(geometry(dims(program_.output_of(op))), geometry(dims(input)));
        return spread == Spread::row || spread == Spread::scalar;
    }

    const Program& program_;
    const std::vector<BufferLocation>& places_;
    const std::vector<std::uint32_t>& owner_;
    const std::uint32_t first_;
    const FusionLimits limits_;
    FusableRun run_;
    bool crosses_ = false;  ///< The run contains an op that is not elementwise.
    bool linked_ = false;   ///< The run contains an op that reads one of its results.
    std::map<std::uint32_t, bool> read_whole_;
};

}  // namespace

std::optional<FusableRun> find_fusable_run(const Program& program, const std::vector<BufferLocation>& places,
                                           const std::vector<std::uint32_t>& owner, std::uint32_t first,
                                           std::uint32_t ops_max, const FusionLimits& limits) {
    return Finder(program, places, owner, first, limits).run(ops_max);
}

bool goes_by_parts(const Program& program, std::uint32_t op, std::uint64_t parts) {
    const OpRecord& record = program.ops[op];
    const Geometry out = geometry(program.tensors[program.output_of(op)].dims);
    if (!is_elementwise(record.code) || parts == 0 || out.elements() == 0 || out.elements() % parts != 0) return false;
    return std::all_of(record.inputs.begin(), record.inputs.end(), [&](std::uint32_t input) {
        const Geometry own = geometry(program.tensors[input].dims);
        const Spread spread = *spread_of(out, own);
        if (spread == Spread::row) return own.cols % (out.elements() / parts) == 0;
        return spread == Spread::full || spread == Spread::scalar;
    });
}

OpFacts facts_of_part(const OpFacts& facts, std::uint64_t parts, std::uint64_t all) {
    OpFacts out = facts;
    if (facts.op.code == OpCode::matmul) {
        const auto cut = [&](OpFacts::Operand& operand) {
            const std::size_t rank = operand.dims.size();
            const std::uint64_t rows = operand.dims[rank - 2], cols = operand.dims[rank - 1];
            operand.dims = {geometry(operand.dims).rows / rows * parts / all, rows, cols};
        };
        cut(out.output);
        for (OpFacts::Operand& input : out.inputs) cut(input);
        return out;
    }
    const Geometry shape = geometry(facts.output.dims);
    for (OpFacts::Operand& input : out.inputs) {
        const Geometry own = geometry(input.dims);
        const bool whole = is_elementwise(facts.op.code) && own.rows != shape.rows;
        input.dims = {whole ? own.rows : own.rows * parts / all, own.cols};
    }
    out.output.dims = {shape.rows * parts / all, shape.cols};
    return out;
}

Program with_constants_first(const Program& program) {
    const auto ops = static_cast<std::uint32_t>(program.ops.size());
    const auto is_constant = [&](std::uint32_t tensor) {
        return tensor >= program.states && tensor < program.states + program.constants;
    };
    std::vector<bool> writes(ops), early(ops);
    for (std::uint32_t state = 0; state < program.states; ++state) {
        if (program.tensors[state].writer != kNoWriter) writes[program.tensors[state].writer] = true;
    }
    std::vector<std::uint32_t> same(program.tensors.size());  // by tensor: the first one computed alike
    std::iota(same.begin(), same.end(), 0u);
    using Made = std::tuple<OpCode, std::vector<std::uint32_t>, std::vector<std::uint64_t>, DType, Dims>;
    std::map<Made, std::uint32_t> known;
    std::uint64_t taken = 0;
    for (std::uint32_t i = 0; i < ops; ++i) {
        const OpRecord& op = program.ops[i];
        const std::uint32_t tensor = program.output_of(i);
        const TensorRecord& record = program.tensors[tensor];
        const bool follows = op.inputs.empty() ? op.code == OpCode::iota || op.code == OpCode::fill
                                               : op.code != OpCode::reshape || program.is_op_output(op.inputs[0]);
        const bool moves =
            follows && record.name.empty() && std::all_of(op.inputs.begin(), op.inputs.end(), [&](std::uint32_t input) {
                return is_constant(input) || (program.is_op_output(input) && early[input - program.tensors_static()]);
            });
        if (!moves) continue;
        std::vector<std::uint32_t> inputs;
        for (const std::uint32_t input : op.inputs) inputs.push_back(same[input]);
        const Made made{op.code, std::move(inputs), op.attributes, record.dtype, record.dims};
        const auto twin = writes[i] ? known.end() : known.find(made);
        if (twin != known.end()) {
            same[tensor] = twin->second;
            early[i] = true;
            continue;
        }
        const std::uint64_t bytes = geometry(record.dims).elements() * size_of(record.dtype);
        if (bytes > kFirstBytesMax - taken) continue;
        taken += bytes;
        early[i] = true;
        if (!writes[i]) known.emplace(made, tensor);
    }
    std::vector<std::uint32_t> order, now(same);  // by tensor: its number in the new program
    for (const bool first : {true, false}) {
        for (std::uint32_t i = 0; i < ops; ++i)
            if (early[i] == first && same[program.output_of(i)] == program.output_of(i)) order.push_back(i);
    }
    for (std::uint32_t i = 0; i < order.size(); ++i) now[program.output_of(order[i])] = program.output_of(i);
    const auto seen = [&](std::uint32_t tensor) { return now[same[tensor]]; };
    Program out = program;
    out.ops.clear();
    out.tensors.resize(program.tensors_static());
    for (const std::uint32_t i : order) {
        OpRecord op = program.ops[i];
        for (std::uint32_t& input : op.inputs) input = seen(input);
        out.ops.push_back(std::move(op));
        out.tensors.push_back(program.tensors[program.output_of(i)]);
    }
    for (std::uint32_t s = 0; s < program.states; ++s) {
        const std::uint32_t writer = program.tensors[s].writer;
        if (writer != kNoWriter) out.tensors[s].writer = seen(program.output_of(writer)) - program.tensors_static();
    }
    return out;
}

}  // namespace retrace::kernels
