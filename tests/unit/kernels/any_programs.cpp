// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/any_programs.hpp"

#include <algorithm>

#include "kernels/ops/op.hpp"
#include "kernels/program/limits.hpp"
#include "tests/unit/kernels/any_values.hpp"

namespace retrace::kernels::testing {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::i8, DType::u8, DType::i32, DType::boolean};
constexpr std::uint64_t kExtents[] = {1,  2,   3,   4,   5,   8,   12,  16,  31,  32,  33,
                                      64, 127, 128, 129, 255, 256, 257, 300, 513, 1030};
constexpr std::uint64_t kSteps[] = {0,          1,          77,          0x7ffffffe,         0x7fffffff,
                                    0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, ~std::uint64_t{0} - 9};
// Ops that matter for memory plans are drawn more often.
constexpr OpCode kOften[] = {OpCode::matmul,
                             OpCode::matmul,
                             OpCode::row_sum,
                             OpCode::row_max,
                             OpCode::row_argmax,
                             OpCode::reshape,
                             OpCode::reshape,
                             OpCode::add,
                             OpCode::sub,
                             OpCode::mul,
                             OpCode::div,
                             OpCode::exp,
                             OpCode::max,
                             OpCode::select,
                             OpCode::less,
                             OpCode::fma,
                             OpCode::convert,
                             OpCode::tanh,
                             OpCode::col_sum,
                             OpCode::permute,
                             OpCode::relu,
                             OpCode::window_gather,
                             OpCode::row_argmax_pick,
                             OpCode::row_top,
                             OpCode::row_add_at,
                             OpCode::put_rows};

class Generator {
public:
    explicit Generator(std::uint64_t seed) : values_(seed) {
        const std::uint64_t longest = below(6);  // Which extent may be long, if any.
        a_ = below(12) == 0 ? 0 : kExtents[below(longest == 0 ? 21 : 13)];
        b_ = below(20) == 0 ? 0 : kExtents[below(longest == 1 ? 21 : 9)];
        c_ = kExtents[below(longest == 2 ? 21 : 11)];
    }

    AnyProgram make() {
        add_static();
        const std::uint64_t ops = 3 + below(43);
        while (program_.ops.empty())
            for (std::uint64_t i = 0; i < ops && program_.ops.size() < ops; ++i)
                for (int tries = 0; tries < 60 && !try_op(); ++tries) continue;
        add_writers();
        for (std::uint32_t op = 0; op < program_.ops.size(); ++op) {
            TensorRecord& out = program_.tensors[program_.output_of(op)];
            if (out.dtype == DType::f32 && out.dims.empty() && below(3) == 0) out.name = "m" + std::to_string(op);
        }
        AnyProgram out;
        const auto data = below(5);
        out.state.step = kSteps[below(std::size(kSteps))];
        for (std::uint32_t s = 0; s < program_.states; ++s) out.state.tensors.push_back(tensor(s, data));
        for (std::uint32_t d = 0; d < program_.datasets; ++d)
            out.datasets.push_back(tensor(program_.states + program_.constants + d, data));
        out.seed = values_.random()();
        out.program = std::move(program_);
        return out;
    }

private:
    std::uint64_t below(std::uint64_t n) { return values_.below(n); }
    std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
    DType some_type() { return below(4) != 0 ? DType::f32 : kTypes[below(5)]; }

    Dims some_dims() {
        switch (below(14)) {
            case 0: return {};
            case 1: return {b_};
            case 2: return {a_};
            case 3: return {a_, 1};
            case 4: return {1, b_};
            case 5: return {c_, a_, b_};
            case 6: return {c_, b_, a_};
            case 7: return {a_, b_, c_};
            case 8: return {c_, a_, a_};
            case 9: return {c_ * a_, b_};
            case 10: return {a_ * b_};
            default: return {a_, b_};
        }
    }

    Tensor tensor(std::uint32_t number, std::uint64_t kind) {
        return values_.tensor(program_.tensors[number].dtype, program_.tensors[number].dims, kind);
    }

    void add_tensor(TensorKind kind, DType dtype, Dims dims) {
        TensorRecord record;
        record.kind = kind;
        record.dtype = dtype;
        record.dims = std::move(dims);
        program_.tensors.push_back(std::move(record));
    }

    void add_static() {
        program_.states = static_cast<std::uint32_t>(between(2, 7));
        for (std::uint32_t i = 0; i < program_.states; ++i) add_tensor(TensorKind::state, some_type(), some_dims());
        program_.constants = static_cast<std::uint32_t>(below(3));
        for (std::uint32_t i = 0; i < program_.constants; ++i) {
            add_tensor(TensorKind::constant, some_type(), some_dims());
            program_.constant_data.push_back({tensor(program_.states + i, below(5)).data});
        }
        program_.datasets = static_cast<std::uint32_t>(below(2));
        for (std::uint32_t i = 0; i < program_.datasets; ++i) add_tensor(TensorKind::data, some_type(), some_dims());
    }

    void add_writers() {
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            std::vector<std::uint32_t> fitting;
            for (std::uint32_t op = 0; op < program_.ops.size(); ++op) {
                const TensorRecord& out = program_.tensors[program_.output_of(op)];
                if (out.dtype == program_.tensors[s].dtype && out.dims == program_.tensors[s].dims)
                    fitting.push_back(op);
            }
            if (!fitting.empty() && below(5) != 0)
                program_.tensors[s].writer = below(2) == 0 ? fitting.back() : fitting[below(fitting.size())];
        }
    }

    /// Mostly one of the newest tensors, so that programs are deep.
    std::uint32_t some_tensor() {
        const std::uint64_t all = program_.tensors.size();
        return static_cast<std::uint32_t>(below(3) != 0 ? all - 1 - below(std::min<std::uint64_t>(all, 6))
                                                        : below(all));
    }

    static bool takes(OpCode code, std::uint32_t slot, DType dtype) {
        if (code >= OpCode::logical_and && code <= OpCode::logical_not) return dtype == DType::boolean;
        if (code >= OpCode::add_wrap && code <= OpCode::and_bits) return dtype == DType::i32;
        if (code == OpCode::select && slot == 0) return dtype == DType::boolean;
        const bool indexed = code == OpCode::gather_rows || code == OpCode::scatter_add_rows ||
                             code == OpCode::row_argmax_pick || code == OpCode::powi;
        if (indexed && slot == 1) return dtype == DType::i32;
        const bool moves = code == OpCode::permute || code == OpCode::slice || code == OpCode::concat ||
                           code == OpCode::pad || code == OpCode::reshape || code == OpCode::window_gather;
        const bool any = moves || code == OpCode::convert || code == OpCode::select || code == OpCode::gather_rows ||
                         (code >= OpCode::equal && code <= OpCode::greater_equal);
        return any || dtype == DType::f32;
    }

    bool try_op() {
        const auto rules = all_rules();
        const OpRule& rule = below(3) == 0 ? rules[below(rules.size())] : *find_rule(kOften[below(std::size(kOften))]);
        OpFacts facts;
        facts.op.code = rule.code;
        const auto inputs = rule.code == OpCode::concat ? static_cast<std::uint32_t>(between(1, 3)) : rule.inputs_min;
        for (std::uint32_t slot = 0; slot < inputs; ++slot) {
            std::uint32_t input = some_tensor();
            for (int tries = 0; tries < 8 && !takes(rule.code, slot, program_.tensors[input].dtype); ++tries)
                input = some_tensor();
            add_input(facts, input);
        }
        facts.output = {DType::f32, inputs != 0 ? facts.inputs[below(inputs)].dims : some_dims()};
        if (rule.code == OpCode::window_gather && facts.inputs[0].dims.size() != 4) return try_image(facts);
        if (rule.code == OpCode::window_scatter) return try_scatter();
        if (updates_first_operand(rule.code) || rule.code == OpCode::row_pick) return try_update(rule.code);
        if (rule.code == OpCode::chacha_bits) return try_chacha();
        choose_attributes(facts);
        if (is_elementwise(rule.code) && below(4) == 0) facts.output.dims = some_dims();
        return add(facts);
    }

    void add_input(OpFacts& facts, std::uint32_t tensor) {
        facts.op.inputs.push_back(tensor);
        facts.inputs.push_back({program_.tensors[tensor].dtype, program_.tensors[tensor].dims});
    }

    std::uint64_t bits_of(DType dtype) { return size_of(dtype) == 1 ? below(2) : values_.float_bits(below(4)); }
    std::uint64_t some_of(std::uint64_t high) { return below(3) != 0 ? 0 : between(0, high); }

    void choose_attributes(OpFacts& facts) {
        auto& attributes = facts.op.attributes;
        switch (facts.op.code) {
            case OpCode::matmul: attributes = {between(1, 4), below(2), below(2)}; break;
            case OpCode::convert:
                attributes = {static_cast<std::uint64_t>(below(2) != 0 ? DType::f32 : DType::i32)};
                break;
            case OpCode::row_top: attributes = {between(1, 12)}; break;
            case OpCode::scatter_add_rows: attributes = {below(3) != 0 ? a_ : between(0, 40)}; break;
            case OpCode::permute:
                for (std::uint64_t i = 0; i < facts.inputs[0].dims.size(); ++i) attributes.push_back(i);
                std::shuffle(attributes.begin(), attributes.end(), values_.random());
                break;
            case OpCode::slice: {
                std::vector<std::uint64_t> extents;
                for (const std::uint64_t extent : facts.inputs[0].dims) {
                    attributes.push_back(some_of(extent));
                    const std::uint64_t rest = extent - attributes.back();
                    extents.push_back(below(2) != 0 ? rest : between(0, rest));
                }
                attributes.insert(attributes.end(), extents.begin(), extents.end());
                break;
            }
            case OpCode::concat: attributes = {below(3)}; break;
            case OpCode::pad:
                for (std::size_t i = 0; i < 2 * facts.inputs[0].dims.size(); ++i) attributes.push_back(some_of(5));
                attributes.push_back(bits_of(facts.inputs[0].dtype));
                break;
            case OpCode::reshape: facts.output.dims = reshaped(facts.inputs[0].dims); break;
            case OpCode::window_gather:
                attributes = some_windows();
                attributes.push_back(bits_of(facts.inputs[0].dtype));
                break;
            case OpCode::fill:
                facts.output = {kTypes[below(5)], some_dims()};
                attributes = {bits_of(facts.output.dtype)};
                break;
            case OpCode::iota:
                facts.output = {DType::i32, some_dims()};
                attributes = {below(3)};
                break;
            case OpCode::step_number:
                facts.output = {DType::i32, {}};
                attributes = {below(2) != 0 ? below(6) : 0x7fffffff - below(4)};
                break;
            case OpCode::philox_normal:
            case OpCode::philox_uniform: facts.op.stream = "s" + std::to_string(below(3)); break;
            case OpCode::batch_index:
                facts.output = {DType::i32, {a_}};
                attributes = {below(2) != 0 ? a_ + below(10) : 0x7fffffff - below(4)};
                break;
            case OpCode::sequential_index: facts.output = {DType::i32, {a_}}; break;
            default: break;
        }
    }

    Dims reshaped(const Dims& from) {
        const Geometry shape = geometry(from);
        switch (below(7)) {
            case 0: return {shape.elements()};
            case 1: return {shape.cols, shape.rows};
            case 2: return {a_, b_};
            case 3: return {c_, a_, b_};
            case 4: return {c_ * a_, b_};
            case 5: return {1, shape.elements(), 1};
            default: return {a_ * b_};
        }
    }

    /// Extents, strides and paddings; a third of the windows do not overlap.
    std::vector<std::uint64_t> some_windows() {
        std::vector<std::uint64_t> out = {between(1, 4), between(1, 4), between(1, 5),
                                          between(1, 5), between(0, 4), between(0, 4)};
        if (below(3) == 0) out = {out[0], out[1], out[0], out[1], 0, 0};
        return out;
    }

    /// Windows over a tensor that is first reshaped to an image.
    bool try_image(const OpFacts& of) {
        const std::uint64_t elements = geometry(of.inputs[0].dims).elements();
        const std::uint64_t height = between(1, 40), width = between(1, 40);
        if (elements == 0 || elements > 40000 || elements % (height * width) != 0) return false;
        const std::uint64_t images = elements / (height * width);
        const std::uint64_t channels = images % 2 == 0 && below(2) != 0 ? 2 : 1;
        OpFacts image;
        image.op.code = OpCode::reshape;
        add_input(image, of.op.inputs[0]);
        image.output = {image.inputs[0].dtype, {images / channels, channels, height, width}};
        if (!add(image)) return false;
        OpFacts windows;
        windows.op.code = OpCode::window_gather;
        add_input(windows, static_cast<std::uint32_t>(program_.tensors.size() - 1));
        choose_attributes(windows);
        return add(windows);
    }

    std::uint32_t newest() const { return static_cast<std::uint32_t>(program_.tensors.size() - 1); }

    bool add_op(OpCode code, const std::vector<std::uint32_t>& inputs, std::vector<std::uint64_t> attributes = {},
                OpFacts::Operand output = {}) {
        OpFacts facts;
        facts.op.code = code;
        for (const std::uint32_t input : inputs) add_input(facts, input);
        facts.op.attributes = std::move(attributes);
        facts.output = std::move(output);
        return add(facts);
    }

    /// Places in the rows of a tensor, or indices of its rows, then what is read from there, then the update of the
    /// tensor or of one of the same shape.
    bool try_update(OpCode code) {
        const std::uint32_t table = some_tensor();
        const Dims dims = program_.tensors[table].dims;
        if (dims.empty()) return false;
        if (code == OpCode::put_rows) {
            const std::uint64_t rows = between(0, 40), first = between(0, dims[0]);
            if (!add_op(OpCode::iota, {}, {0}, {DType::i32, {rows}})) return false;
            if (below(2) != 0) {
                const std::uint32_t iota = newest();
                if (!add_op(OpCode::fill, {}, {first}, {DType::i32, {}})) return false;
                if (!add_op(below(2) != 0 ? OpCode::sub_wrap : OpCode::and_bits, {iota, newest()}, {},
                            {DType::i32, {rows}}))
                    return false;
            }
            const std::uint32_t index = newest();
            return add_op(OpCode::gather_rows, {table, index}) && add_op(code, {table, newest(), index});
        }
        Dims places = dims;
        places.back() = between(0, 9);
        if (!add_op(OpCode::row_top, {table}, {between(1, 9)}) &&
            !add_op(OpCode::iota, {}, {dims.size() - 1}, {DType::i32, places}))
            return false;
        const std::uint32_t at = newest();
        if (!add_op(OpCode::row_pick, {table, at})) return false;
        return code == OpCode::row_pick || add_op(code, {table, at, newest()});
    }

    bool try_chacha() {
        return add_op(OpCode::iota, {}, {0}, {DType::i32, {8}}) &&
               add_op(OpCode::chacha_bits, {newest()}, {program_.ops.size()}, {DType::i32, some_dims()});
    }

    bool try_scatter() {
        const std::uint64_t n = below(4), c = below(4), h = below(10), w = below(10);
        const std::vector<std::uint64_t> windows = some_windows();
        if (windows[0] > h + 2 * windows[4] || windows[1] > w + 2 * windows[5]) return false;
        const std::uint64_t rows = (h + 2 * windows[4] - windows[0]) / windows[2] + 1;
        const std::uint64_t cols = (w + 2 * windows[5] - windows[1]) / windows[3] + 1;
        OpFacts values;
        values.op.code = OpCode::philox_normal;
        values.op.stream = "w";
        values.output = {DType::f32, {n * rows * cols, c * windows[0] * windows[1]}};
        if (!add(values)) return false;
        OpFacts scatter;
        scatter.op.code = OpCode::window_scatter;
        add_input(scatter, static_cast<std::uint32_t>(program_.tensors.size() - 1));
        scatter.op.attributes = {n, c, h, w};
        scatter.op.attributes.insert(scatter.op.attributes.end(), windows.begin(), windows.end());
        return add(scatter);
    }

    /// Returns false if a rule refuses the op, or if it is too large for a test.
    bool add(OpFacts facts) {
        const OpRule& rule = *find_rule(facts.op.code);
        const std::size_t attributes = facts.op.attributes.size();
        if (attributes < rule.attributes_min || attributes > rule.attributes_max || !check_dims(facts.output.dims))
            return false;
        const auto output = rule.output(facts);
        if (!output || !check_dims(output->dims) || geometry(output->dims).elements() > 60'000) return false;
        facts.output = *output;
        if (rule.cost(facts) > 3'000'000 || !check_facts(facts)) return false;
        program_.ops.push_back(facts.op);
        add_tensor(TensorKind::op_output, facts.output.dtype, facts.output.dims);
        return true;
    }

    AnyValues values_;
    std::uint64_t a_ = 1, b_ = 1, c_ = 1;
    Program program_;
};

}  // namespace

Inputs AnyProgram::inputs() const {
    Inputs out;
    out.seed = seed;
    for (const Tensor& tensor : datasets) out.datasets.push_back(&tensor);
    return out;
}

AnyProgram any_program(std::uint64_t seed) { return Generator(seed).make(); }

}  // namespace retrace::kernels::testing
