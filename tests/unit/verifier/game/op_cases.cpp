// SPDX-License-Identifier: MIT
#include "tests/unit/verifier/game/op_cases.hpp"

#include <random>

#include "kernels/ops/op.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::test {
namespace {

using namespace kernels;
using Operand = OpFacts::Operand;
constexpr DType f32 = DType::f32, i32 = DType::i32, u8 = DType::u8, boolean = DType::boolean;

/// Values that fit the dtype; int32 values are small and sometimes out of range, as an index may be.
Tensor random_tensor(const Operand& shape, std::mt19937_64& random) {
    Tensor tensor = zeros(shape.dtype, shape.dims);
    for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
        std::uint8_t* at = tensor.data.data() + i * size_of(shape.dtype);
        const std::uint64_t bits = random();
        switch (shape.dtype) {
            case f32: store_u32(at, to_bits(0.25f + static_cast<float>(bits % 4096) / 1024.0f)); break;
            case i32: store_u32(at, static_cast<std::uint32_t>(bits % 12) - 1); break;
            case boolean: *at = bits & 1; break;
            default: *at = static_cast<std::uint8_t>(bits); break;
        }
    }
    return tensor;
}

struct Draft {
    OpCode code;
    std::vector<Operand> inputs;
    std::vector<std::uint64_t> attributes;
    Operand output;
    std::string note = {};
};

OpCase make_case(const Draft& draft) {
    std::mt19937_64 random(static_cast<std::uint64_t>(draft.code));
    OpCase out;
    const OpRule* rule = find_rule(draft.code);
    out.name = std::string(rule->name) + draft.note;
    OpRecord op{draft.code, {}, draft.attributes, rule->has_stream ? "noise" : ""};
    for (const Operand& input : draft.inputs) {
        op.inputs.push_back(out.program.states++);
        out.program.tensors.push_back({TensorKind::state, input.dtype, input.dims, kNoWriter, ""});
        out.start.tensors.push_back(random_tensor(input, random));
    }
    ++out.program.states;
    out.program.tensors.push_back({TensorKind::state, draft.output.dtype, draft.output.dims, 0, "out"});
    out.start.tensors.push_back(zeros(draft.output.dtype, draft.output.dims));
    out.program.tensors.push_back({TensorKind::op_output, draft.output.dtype, draft.output.dims, kNoWriter, ""});
    out.program.ops.push_back(op);
    return out;
}

void add_elementwise(std::vector<Draft>& drafts) {
    const Operand full{f32, {70, 40}}, row{f32, {1, 40}};
    for (const OpRule& rule : all_rules()) {
        const auto code = static_cast<unsigned>(rule.code);
        if (code >= 0x0201 && code < 0x0220) drafts.push_back({rule.code, {full}, {}, full});
        if (code >= 0x0301 && code < 0x0308) drafts.push_back({rule.code, {full, row}, {}, full});
        if (code >= 0x0401 && code < 0x0410) drafts.push_back({rule.code, {full, full}, {}, {boolean, full.dims}});
    }
    drafts.push_back({OpCode::convert, {{u8, {70, 40}}}, {1}, full});
    drafts.push_back({OpCode::convert, {full}, {4}, {i32, full.dims}, "_i32"});
    drafts.push_back({OpCode::powi, {full, {i32, full.dims}}, {}, full});
    drafts.push_back({OpCode::fma, {full, full, row}, {}, full});
    const Operand words{i32, full.dims}, words_row{i32, {1, 40}};
    for (const OpCode code : {OpCode::add_wrap, OpCode::sub_wrap, OpCode::and_bits})
        drafts.push_back({code, {words, words_row}, {}, words});
    const Operand mask{boolean, full.dims};
    drafts.push_back({OpCode::logical_and, {mask, mask}, {}, mask});
    drafts.push_back({OpCode::logical_or, {mask, mask}, {}, mask});
    drafts.push_back({OpCode::logical_not, {mask}, {}, mask});
    drafts.push_back({OpCode::select, {mask, full, row}, {}, full});
}

void add_matmul(std::vector<Draft>& drafts) {
    for (std::uint64_t precision = 1; precision <= 4; ++precision) {
        const std::string note = "_p" + std::to_string(precision);
        drafts.push_back(
            {OpCode::matmul, {{f32, {40, 600}}, {f32, {600, 50}}}, {precision, 0, 0}, {f32, {40, 50}}, note});
        drafts.push_back(
            {OpCode::matmul, {{f32, {600, 40}}, {f32, {50, 600}}}, {precision, 1, 1}, {f32, {40, 50}}, note + "_tt"});
    }
    // Matrices that start inside a tile: the bound of 18 input tiles is reached here.
    drafts.push_back(
        {OpCode::matmul, {{f32, {3, 33, 300}}, {f32, {3, 300, 33}}}, {3, 0, 0}, {f32, {3, 33, 33}}, "_batch"});
    drafts.push_back(
        {OpCode::matmul, {{f32, {2, 1025, 9}}, {f32, {2, 1025, 5}}}, {1, 1, 0}, {f32, {2, 9, 5}}, "_tall"});
    drafts.push_back({OpCode::matmul, {{f32, {4, 0}}, {f32, {0, 5}}}, {1, 0, 0}, {f32, {4, 5}}, "_k0"});
}

void add_others(std::vector<Draft>& drafts) {
    const Operand wide{f32, {40, 600}}, tall{f32, {600, 40}};
    drafts.push_back({OpCode::row_sum, {wide}, {}, {f32, {40, 3}}});
    drafts.push_back({OpCode::row_max, {wide}, {}, {f32, {40, 3}}});
    drafts.push_back({OpCode::col_sum, {tall}, {}, {f32, {3, 40}}});
    drafts.push_back({OpCode::col_max, {tall}, {}, {f32, {3, 40}}});
    drafts.push_back({OpCode::row_argmax, {wide}, {}, {i32, {40, 3}}});
    drafts.push_back({OpCode::row_argmax_pick, {wide, {i32, {40, 600}}}, {}, {i32, {40, 3}}});
    drafts.push_back({OpCode::gather_rows, {{f32, {10, 40}}, {i32, {70}}}, {}, {f32, {70, 40}}});
    drafts.push_back({OpCode::gather_rows, {{u8, {10, 4, 9}}, {i32, {70}}}, {}, {u8, {70, 4, 9}}, "_u8"});
    drafts.push_back({OpCode::scatter_add_rows, {{f32, {700, 40}}, {i32, {700}}}, {10}, {f32, {10, 40}}});
    drafts.push_back({OpCode::row_top, {{f32, {40, 512}}}, {3}, {i32, {40, 3}}});
    drafts.push_back({OpCode::row_pick, {wide, {i32, {40, 3}}}, {}, {f32, {40, 3}}});
    drafts.push_back({OpCode::row_pick, {{u8, {4, 10, 9}}, {i32, {4, 10, 3}}}, {}, {u8, {4, 10, 3}}, "_u8"});
    drafts.push_back({OpCode::row_add_at, {tall, {i32, {600, 3}}, {f32, {600, 3}}}, {}, tall});
    drafts.push_back(
        {OpCode::row_add_at, {{f32, {3, 40}}, {i32, {3, 512}}, {f32, {3, 512}}}, {}, {f32, {3, 40}}, "_many"});
    drafts.push_back({OpCode::put_rows, {{f32, {20, 40}}, {f32, {480, 40}}, {i32, {480}}}, {}, {f32, {20, 40}}});
    drafts.push_back({OpCode::put_rows, {{u8, {20, 4, 9}}, {u8, {3, 4, 9}}, {i32, {3}}}, {}, {u8, {20, 4, 9}}, "_u8"});
    drafts.push_back({OpCode::reshape, {wide}, {}, {f32, {300, 80}}});
    drafts.push_back({OpCode::permute, {{f32, {6, 7, 50}}}, {2, 0, 1}, {f32, {50, 6, 7}}});
    drafts.push_back({OpCode::slice, {tall}, {100, 3, 200, 34}, {f32, {200, 34}}});
    drafts.push_back({OpCode::concat, {tall, {f32, {11, 40}}, tall}, {0}, {f32, {1211, 40}}});
    drafts.push_back({OpCode::pad, {{f32, {30, 30}}}, {3, 4, 5, 6, 0x3f800000}, {f32, {38, 40}}});
    // Images 2×3×9×9, kernel 3×3, stride 2, padding 1: 5×5 windows.
    drafts.push_back({OpCode::window_gather, {{f32, {2, 3, 9, 9}}}, {3, 3, 2, 2, 1, 1, 0}, {f32, {50, 27}}});
    // Kernel 5×5 (two links of 16 terms), stride 1, padding 2: 9×9 windows.
    drafts.push_back({OpCode::window_scatter, {{f32, {162, 75}}}, {2, 3, 9, 9, 5, 5, 1, 1, 2, 2}, {f32, {2, 3, 9, 9}}});
    drafts.push_back({OpCode::fill, {}, {0x40490fdb}, {f32, {33, 33}}});
    drafts.push_back({OpCode::iota, {}, {1}, {i32, {33, 33}}});
    drafts.push_back({OpCode::step_number, {}, {1}, {i32, {}}});
    drafts.push_back({OpCode::philox_uniform, {}, {}, {f32, {33, 33}}});
    drafts.push_back({OpCode::philox_normal, {}, {}, {f32, {33, 33}}});
    drafts.push_back({OpCode::batch_index, {}, {1000}, {i32, {64}}});
    drafts.push_back({OpCode::chacha_bits, {{i32, {8}}}, {9}, {i32, {33, 33}}});
    drafts.push_back({OpCode::sequential_index, {}, {}, {i32, {64}}});
}

}  // namespace

std::vector<OpCase> op_cases() {
    std::vector<Draft> drafts;
    add_elementwise(drafts);
    add_matmul(drafts);
    add_others(drafts);
    std::vector<OpCase> cases;
    for (const Draft& draft : drafts) cases.push_back(make_case(draft));
    return cases;
}

OpCase small_training() {
    std::mt19937_64 random(7);
    OpCase out;
    out.name = "small_training";
    Program& program = out.program;
    // States: w1 [300,40], w2 [40,33], a frozen scale [1,33], a step counter.
    program.states = 4;
    program.constants = 1;
    program.datasets = 1;
    program.tensors = {
        {TensorKind::state, f32, {300, 40}, 8, "w1"},          {TensorKind::state, f32, {40, 33}, 6, "w2"},
        {TensorKind::state, f32, {1, 33}, kNoWriter, "scale"}, {TensorKind::state, i32, {}, 9, "counter"},
        {TensorKind::constant, f32, {1}, kNoWriter, "rate"},   {TensorKind::data, f32, {200, 300}, kNoWriter, "x"}};
    const auto op = [&](OpCode code, std::vector<std::uint32_t> inputs, std::vector<std::uint64_t> attributes,
                        DType dtype, Dims dims) {
        program.ops.push_back({code, std::move(inputs), std::move(attributes), ""});
        program.tensors.push_back({TensorKind::op_output, dtype, std::move(dims), kNoWriter, ""});
        return static_cast<std::uint32_t>(program.tensors.size() - 1);
    };
    const std::uint32_t index = op(OpCode::batch_index, {}, {200}, i32, {64});        // 0
    const std::uint32_t x = op(OpCode::gather_rows, {5, index}, {}, f32, {64, 300});  // 1
    const std::uint32_t h = op(OpCode::matmul, {x, 0}, {3, 0, 0}, f32, {64, 40});     // 2
    const std::uint32_t y = op(OpCode::matmul, {h, 1}, {1, 0, 0}, f32, {64, 33});     // 3
    const std::uint32_t e = op(OpCode::mul, {y, 2}, {}, f32, {64, 33});               // 4
    const std::uint32_t g2 = op(OpCode::matmul, {h, e}, {1, 1, 0}, f32, {40, 33});    // 5
    op(OpCode::fma, {g2, 4, 1}, {}, f32, {40, 33});                                   // 6: next w2
    const std::uint32_t g1 = op(OpCode::matmul, {x, h}, {3, 1, 0}, f32, {300, 40});   // 7
    op(OpCode::fma, {g1, 4, 0}, {}, f32, {300, 40});                                  // 8: next w1
    op(OpCode::step_number, {}, {1}, i32, {});                                        // 9: next counter
    for (std::uint32_t i = 0; i < 4; ++i) {
        const TensorRecord& record = program.tensors[i];
        out.start.tensors.push_back(random_tensor({record.dtype, record.dims}, random));
    }
    Bytes rate(4);
    store_u32(rate.data(), to_bits(-1e-6f));
    program.constant_data = {{rate}};
    return out;
}

}  // namespace retrace::test
