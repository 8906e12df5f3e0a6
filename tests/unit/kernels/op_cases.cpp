// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/op_cases.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "kernels/matmul/matmul.hpp"

namespace retrace::kernels::testing {
namespace {

using Random = std::mt19937_64;
using Operand = OpFacts::Operand;

std::uint64_t pick(Random& random, std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

/// Extents near tile and level edges, often tiny, sometimes zero.
std::uint64_t extent(Random& random, std::uint64_t high) {
    static constexpr std::uint64_t kEdges[] = {0, 1, 2, 31, 32, 33, 255, 256, 257, 300, 513};
    const std::uint64_t edge = kEdges[pick(random, 0, std::size(kEdges) - 1)];
    return edge <= high && pick(random, 0, 1) == 0 ? edge : pick(random, 1, high);
}

Dims random_dims(Random& random, std::uint64_t rank, std::uint64_t high) {
    Dims dims;
    for (std::uint64_t i = 0; i < rank; ++i) dims.push_back(extent(random, high));
    return dims;
}

std::uint32_t float_bits(Data data, Random& random) {
    static constexpr std::uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x7fc00000, 0xffc12345, 0x7f800000,
                                                 0xff800000, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
                                                 0x3f800000, 0xbf800000, 0x3f000000, 0x5f000000, 0x42b00000};
    if (data == Data::special && pick(random, 0, 2) != 0) return kSpecial[pick(random, 0, std::size(kSpecial) - 1)];
    // Sums of uniform integers, scaled by powers of two: the same on every standard library.
    float value = 0;
    for (int i = 0; i < 4; ++i) value += static_cast<float>(pick(random, 0, 65535)) - 32767.5f;
    value *= 0x1p-16f;
    if (data == Data::heavy) value *= from_bits(static_cast<std::uint32_t>(127 - 40 + pick(random, 0, 60)) << 23);
    return to_bits(value);
}

/// Mostly indices, some out of range; special data also contain the ends of the int32 range, where negation overflows.
/// Makes one draw for any data, so that the facts of later cases do not depend on it.
std::uint32_t int_bits(Data data, Random& random) {
    static constexpr std::uint32_t kSpecial[] = {0x80000000, 0x80000001, 0x7fffffff, 0xffffffff, 0, 1, 0x01000001};
    const std::uint64_t drawn = pick(random, 0, 40);
    if (data == Data::special && drawn < std::size(kSpecial)) return kSpecial[drawn];
    return static_cast<std::uint32_t>(drawn) - 4;
}

Tensor random_tensor(const Operand& operand, Data data, Random& random) {
    Tensor tensor = zeros(operand.dtype, operand.dims);
    for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
        switch (operand.dtype) {
            case DType::f32: store_u32(tensor.data.data() + 4 * i, float_bits(data, random)); break;
            case DType::i32: store_u32(tensor.data.data() + 4 * i, int_bits(data, random)); break;
            case DType::boolean: tensor.data[i] = static_cast<std::uint8_t>(pick(random, 0, 1)); break;
            default: tensor.data[i] = static_cast<std::uint8_t>(random()); break;
        }
    }
    return tensor;
}

OpFacts facts(OpCode code, std::vector<Operand> inputs, std::vector<std::uint64_t> attributes = {}, Operand free = {},
              std::string stream = {}) {
    OpFacts out;
    out.op = {code, std::vector<std::uint32_t>(inputs.size()), std::move(attributes), std::move(stream)};
    out.inputs = std::move(inputs);
    out.output = std::move(free);
    const auto output = find_rule(code)->output(out);
    ensure(output.has_value(), "a case that passes its shape rule");
    out.output = *output;
    return out;
}

Operand f32(Dims dims) { return {DType::f32, std::move(dims)}; }
Operand i32(Dims dims) { return {DType::i32, std::move(dims)}; }

DType any_dtype(Random& random) {
    static constexpr DType kAll[] = {DType::f32, DType::i8, DType::u8, DType::i32, DType::boolean};
    return kAll[pick(random, 0, 4)];
}

/// Extents of an operand that broadcasts to `dims`.
Dims spread(const Dims& dims, Random& random) {
    const Geometry shape = geometry(dims);
    switch (pick(random, 0, 5)) {
        case 0: return {};
        case 1: return {shape.cols};
        case 2: return {shape.rows, 1};
        default: return dims;
    }
}

OpFacts elementwise_case(OpCode code, Random& random) {
    const Dims dims = random_dims(random, pick(random, 0, 3), 40);
    const OpRule* rule = find_rule(code);
    DType dtype = DType::f32;
    if (code >= OpCode::equal && code <= OpCode::greater_equal && pick(random, 0, 1) == 0) dtype = DType::i32;
    if (code >= OpCode::logical_and && code <= OpCode::logical_not) dtype = DType::boolean;
    if (code >= OpCode::add_wrap && code <= OpCode::and_bits) dtype = DType::i32;
    if (code == OpCode::select) dtype = any_dtype(random);
    std::vector<std::uint64_t> attributes;
    if (code == OpCode::convert) {
        dtype = any_dtype(random);
        const bool to_int = dtype == DType::f32 || (dtype != DType::i32 && pick(random, 0, 1) == 0);
        attributes = {static_cast<std::uint64_t>(to_int ? DType::i32 : DType::f32)};
    }
    std::vector<Operand> inputs;
    for (std::uint32_t i = 0; i < rule->inputs_min; ++i) {
        DType own = dtype;
        if (code == OpCode::select && i == 0) own = DType::boolean;
        if (code == OpCode::powi && i == 1) own = DType::i32;
        inputs.push_back({own, spread(dims, random)});
    }
    return facts(code, inputs, attributes, {DType::f32, dims});
}

OpFacts matmul_case(Random& random) {
    const std::uint64_t m = extent(random, 20), n = extent(random, 20), k = extent(random, 600);
    const std::uint64_t ta = pick(random, 0, 1), tb = pick(random, 0, 1);
    Dims a = random_dims(random, pick(random, 0, 2), 3);
    Dims b = a;
    a.insert(a.end(), {ta ? k : m, ta ? m : k});
    b.insert(b.end(), {tb ? n : k, tb ? k : n});
    return facts(OpCode::matmul, {f32(a), f32(b)}, {pick(random, 1, 4), ta, tb});
}

OpFacts reduce_case(OpCode code, Random& random) {
    const bool argmax = code == OpCode::row_argmax || code == OpCode::row_argmax_pick;
    Dims dims = random_dims(random, pick(random, 1, 3), 12);
    dims.back() = std::max<std::uint64_t>(argmax ? 1 : 0, extent(random, 700));
    if (code == OpCode::col_sum || code == OpCode::col_max) dims = {extent(random, 700), extent(random, 80)};
    std::vector<Operand> inputs{f32(dims)};
    if (code == OpCode::row_argmax_pick) inputs.push_back(i32(dims));
    return facts(code, inputs);
}

/// Rows near tile edges, up to the longest that row_top takes.
OpFacts places_case(OpCode code, Random& random) {
    Dims dims = random_dims(random, pick(random, 1, 3), 12);
    std::uint64_t& cols = dims.back();
    if (code == OpCode::row_top) {
        cols = pick(random, 0, 3) == 0 ? 512 : pick(random, 1, 70);
        return facts(code, {f32(dims)}, {pick(random, 0, 3) == 0 ? cols : pick(random, 1, cols)});
    }
    Dims places = dims;
    cols = extent(random, 70);
    places.back() = extent(random, 40);
    if (code == OpCode::row_pick) return facts(code, {{any_dtype(random), dims}, i32(places)});
    return facts(code, {f32(dims), i32(places), f32(places)});
}

OpFacts rows_case(OpCode code, Random& random) {
    if (code == OpCode::put_rows) {
        const DType dtype = any_dtype(random);
        const Dims table = random_dims(random, pick(random, 1, 3), 35);
        Dims rows = table;
        rows[0] = extent(random, 300);
        return facts(code, {{dtype, table}, {dtype, rows}, i32({rows[0]})});
    }
    if (code == OpCode::gather_rows) {
        return facts(code,
                     {{any_dtype(random), random_dims(random, pick(random, 1, 3), 35)}, i32({extent(random, 300)})});
    }
    const std::uint64_t tokens = extent(random, 600);
    return facts(code, {f32({tokens, extent(random, 40)}), i32({tokens})}, {extent(random, 40)});
}

std::uint64_t fill_bits(DType dtype, Random& random) {
    return dtype == DType::boolean ? pick(random, 0, 1) : size_of(dtype) == 1 ? pick(random, 0, 255) : 0xff800000;
}

OpFacts movement_case(OpCode code, Random& random) {
    const DType dtype = any_dtype(random);
    const std::uint64_t rank = pick(random, code == OpCode::concat ? 1 : 0, 4);
    const Dims dims = random_dims(random, rank, rank > 2 ? 9 : 40);
    const Operand in{dtype, dims};
    std::vector<std::uint64_t> attributes;
    switch (code) {
        case OpCode::reshape: return facts(code, {in}, {}, {dtype, {geometry(dims).cols, geometry(dims).rows}});
        case OpCode::permute:
            for (std::uint64_t i = 0; i < rank; ++i) attributes.push_back(i);
            std::shuffle(attributes.begin(), attributes.end(), random);
            return facts(code, {in}, attributes);
        case OpCode::slice: {
            std::vector<std::uint64_t> extents;
            for (const std::uint64_t d : dims) {
                attributes.push_back(pick(random, 0, d));
                extents.push_back(pick(random, 0, d - attributes.back()));
            }
            attributes.insert(attributes.end(), extents.begin(), extents.end());
            return facts(code, {in}, attributes);
        }
        case OpCode::concat: {
            const std::uint64_t axis = pick(random, 0, rank - 1);
            std::vector<Operand> inputs(pick(random, 1, 4), in);
            for (Operand& operand : inputs) operand.dims[axis] = extent(random, 9);
            return facts(code, inputs, {axis});
        }
        default:
            for (std::uint64_t i = 0; i < 2 * rank; ++i) attributes.push_back(pick(random, 0, 5));
            attributes.push_back(fill_bits(dtype, random));
            return facts(code, {in}, attributes);
    }
}

OpFacts window_case(OpCode code, Random& random) {
    const std::uint64_t h = pick(random, 3, 12), w = pick(random, 3, 12), kh = pick(random, 1, 5),
                        kw = pick(random, 1, 5);
    const std::vector<std::uint64_t> window{kh,
                                            kw,
                                            pick(random, 1, 3),
                                            pick(random, 1, 3),
                                            kh > h ? kh : pick(random, 0, 2),
                                            kw > w ? kw : pick(random, 0, 2)};
    const Dims image{extent(random, 3), pick(random, 1, 4), h, w};
    const DType dtype = code == OpCode::window_gather ? any_dtype(random) : DType::f32;
    std::vector<std::uint64_t> attributes = window;
    attributes.push_back(fill_bits(dtype, random));
    const OpFacts gather = facts(OpCode::window_gather, {{dtype, image}}, attributes);
    if (code == OpCode::window_gather) return gather;
    attributes.assign(image.begin(), image.end());
    attributes.insert(attributes.end(), window.begin(), window.end());
    return facts(code, {gather.output}, attributes);
}

OpFacts generate_case(OpCode code, Random& random) {
    const Dims dims = random_dims(random, pick(random, 1, 3), 40);
    const DType dtype = any_dtype(random);
    const std::uint64_t batch = pick(random, 1, 70);
    switch (code) {
        case OpCode::fill: return facts(code, {}, {fill_bits(dtype, random)}, {dtype, dims});
        case OpCode::iota: return facts(code, {}, {pick(random, 0, dims.size() - 1)}, i32(dims));
        case OpCode::step_number: return facts(code, {}, {pick(random, 0, 0x7fffffff)});
        case OpCode::batch_index: return facts(code, {}, {batch + pick(random, 0, 500)}, i32({batch}));
        case OpCode::sequential_index: return facts(code, {}, {}, i32({batch}));
        case OpCode::chacha_bits: return facts(code, {i32({8})}, {pick(random, 0, 65535)}, i32(dims));
        default: return facts(code, {}, {}, f32(dims), "stream");
    }
}

OpFacts random_facts(OpCode code, Random& random) {
    if (is_elementwise(code)) return elementwise_case(code, random);
    switch (static_cast<unsigned>(code) >> 8) {
        case 1: return matmul_case(random);
        case 5: return code >= OpCode::row_top ? places_case(code, random) : reduce_case(code, random);
        case 6: return rows_case(code, random);
        case 7: return movement_case(code, random);
        case 8: return window_case(code, random);
        default: return generate_case(code, random);
    }
}

}  // namespace

std::vector<Tensor> random_inputs(const OpFacts& facts, Data data, std::mt19937_64& random) {
    std::vector<Tensor> inputs;
    for (const Operand& operand : facts.inputs) inputs.push_back(random_tensor(operand, data, random));
    return inputs;
}

State random_state(const Program& program, Data data, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    OpFacts facts;
    for (std::uint32_t i = 0; i < program.states; ++i)
        facts.inputs.push_back({program.tensors[i].dtype, program.tensors[i].dims});
    return {0, random_inputs(facts, data, random)};
}

std::vector<OpCase> random_cases(std::uint64_t seed, int rounds) {
    Random random(seed);
    std::vector<OpCase> cases;
    for (const OpRule& rule : all_rules()) {
        for (int round = 0; round < rounds; ++round) {
            OpCase one{std::string(rule.name) + " #" + std::to_string(round), random_facts(rule.code, random), {}};
            one.inputs = random_inputs(one.facts, static_cast<Data>(round % 3), random);
            cases.push_back(std::move(one));
        }
    }
    return cases;
}

std::vector<OpCase> widest_cases() {
    Random random(1);
    std::vector<OpCase> cases;
    const auto add = [&](std::string name, OpFacts facts) {
        std::vector<Tensor> inputs = random_inputs(facts, Data::bell, random);
        cases.push_back({std::move(name), std::move(facts), std::move(inputs)});
    };
    // Matrices of 33 rows start inside a tile, so 256 of their rows reach into nine tile rows.
    for (const std::uint64_t ta : {0, 1}) {
        for (const std::uint64_t tb : {0, 1}) {
            const Dims a = ta ? Dims{3, 301, 33} : Dims{3, 33, 301}, b = tb ? Dims{3, 33, 301} : Dims{3, 301, 33};
            add("matmul", facts(OpCode::matmul, {f32(a), f32(b)}, {3, ta, tb}));
        }
    }
    for (const OpCode code : {OpCode::row_sum, OpCode::row_max, OpCode::row_argmax}) {
        add("row reduction", facts(code, {f32({40, 600})}));
    }
    for (const OpCode code : {OpCode::col_sum, OpCode::col_max}) add("column reduction", facts(code, {f32({600, 40})}));
    add("row_argmax_pick", facts(OpCode::row_argmax_pick, {f32({40, 600}), i32({40, 600})}));
    add("gather_rows", facts(OpCode::gather_rows, {f32({100, 3, 50}), i32({70})}));
    OpFacts one_row = facts(OpCode::scatter_add_rows, {f32({600, 70}), i32({600})}, {1});
    std::vector<Tensor> inputs = random_inputs(one_row, Data::bell, random);
    inputs[1] = zeros(DType::i32, {600});  // every token in row 0
    cases.push_back({"scatter_add_rows", std::move(one_row), std::move(inputs)});
    add("row_top", facts(OpCode::row_top, {f32({40, 512})}, {9}));
    // No place names an element of the first rows but for the last place, which ends the last of sixteen tiles.
    OpFacts many_places = facts(OpCode::row_add_at, {f32({3, 70}), i32({3, 512}), f32({3, 512})});
    inputs = random_inputs(many_places, Data::bell, random);
    inputs[1] = zeros(DType::i32, {3, 512});
    for (std::uint64_t row = 0; row < 3; ++row) store_u32(inputs[1].data.data() + 4 * (row * 512 + 511), 69);
    cases.push_back({"row_add_at", std::move(many_places), std::move(inputs)});
    add("row_pick", facts(OpCode::row_pick, {f32({40, 600}), i32({40, 70})}));
    OpFacts many_rows = facts(OpCode::put_rows, {f32({5, 70}), f32({480, 70}), i32({480})});
    inputs = random_inputs(many_rows, Data::bell, random);
    inputs[2] = zeros(DType::i32, {480});  // every row in row 0, and none in the others
    cases.push_back({"put_rows", std::move(many_rows), std::move(inputs)});
    add("chacha_bits", facts(OpCode::chacha_bits, {i32({8})}, {7}, i32({40})));
    // Stride 1 and kernels of 4×4 and 5×5: all sixteen terms of a link exist and lie in distant rows.
    for (const std::uint64_t kernel : {4, 5}) {
        const std::uint64_t side = 48 - kernel + 1;
        add("window_scatter", facts(OpCode::window_scatter, {f32({side * side, 3 * kernel * kernel})},
                                    {1, 3, 48, 48, kernel, kernel, 1, 1, 0, 0}));
    }
    add("fma", facts(OpCode::fma, {f32({70, 70}), f32({70}), f32({70, 1})}, {}, f32({70, 70})));
    add("select", facts(OpCode::select, {{DType::boolean, {70, 70}}, f32({70}), f32({70, 1})}, {}, f32({70, 70})));
    return cases;
}

}  // namespace retrace::kernels::testing
