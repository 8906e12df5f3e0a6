// SPDX-License-Identifier: MIT
// Every op of the table on random shapes and data: the CPU back end gives the same bits as the element rules.
#include <gmock/gmock.h>

#include <set>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/cpu/loops.hpp"
#include "kernels/ops/op_call.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels {
namespace {

using testing::OpCase;

Tensor run(const OpCase& one, CpuKernel kernel, ThreadPool& pool, std::uint64_t step) {
    Tensor out = zeros(one.facts.output.dtype, one.facts.output.dims);
    std::fill(out.data.begin(), out.data.end(), std::uint8_t{0xcd});
    std::vector<const std::uint8_t*> inputs;
    for (const Tensor& input : one.inputs) inputs.push_back(input.data.data());
    const OpCall call{one.facts, inputs, out.data.data(), 5, step, pool};
    kernel != nullptr ? kernel(call) : run_reference(call);
    return out;
}

TEST(OpParity, EveryCpuLoopEqualsItsElementRule) {
    ThreadPool one_thread(1), three_threads(3);
    const std::uint64_t seed = 20260101;
    for (const OpCase& one : testing::random_cases(seed, 12)) {
        SCOPED_TRACE(one.name + ", seed " + std::to_string(seed) + ", output " + shape_text(one.facts.output.dims));
        ASSERT_TRUE(check_facts(one.facts)) << check_facts(one.facts).error().message;
        for (const std::uint64_t step : {0ull, 77ull}) {
            const Tensor expected = run(one, nullptr, one_thread, step);
            const CpuKernel kernel = find_cpu_kernel(one.facts);
            ASSERT_EQ(run(one, kernel, one_thread, step), expected);
            ASSERT_EQ(run(one, kernel, three_threads, step), expected);
        }
    }
}

/// Flips one bit of one element of the output.
Tensor with_fault(Tensor out, std::mt19937_64& random) {
    const std::uint64_t element = random() % out.elements(), size = size_of(out.dtype);
    out.data[element * size + random() % size] ^= static_cast<std::uint8_t>(1u << random() % 8);
    return out;
}

TEST(OpParity, ASingleWrongBitOfAnyLoopIsCaught) {
    ThreadPool pool(2);
    const std::uint64_t seed = 20260102;
    std::mt19937_64 random(seed);
    std::set<OpCode> tried;
    for (const OpCase& one : testing::random_cases(seed, 3)) {
        const CpuKernel kernel = find_cpu_kernel(one.facts);
        if (kernel == nullptr || elements_of(one.facts.output) == 0) continue;
        const Tensor expected = run(one, nullptr, pool, 3);
        EXPECT_NE(with_fault(run(one, kernel, pool, 3), random), expected) << one.name << ", seed " << seed;
        tried.insert(one.facts.op.code);
    }
    for (const OpRule& rule : all_rules()) {
        OpFacts facts;
        facts.op.code = rule.code;
        EXPECT_EQ(tried.contains(rule.code), find_cpu_kernel(facts) != nullptr) << rule.name;
    }
}

TEST(OpParity, EveryInstructionSetHasTheBitsOfTheGenericLoops) {
    std::vector<Loops> copies;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) copies.push_back(loops_avx2());
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) copies.push_back(loops_avx512());
#endif
    std::mt19937_64 random(11);
    for (const OpRule& rule : all_rules()) {
        if (!is_elementwise(rule.code) || rule.code == OpCode::convert) continue;
        constexpr std::size_t n = 1003;
        OpFacts facts;
        facts.inputs.assign(3, {DType::f32, {n}});
        const bool bools = rule.code >= OpCode::logical_and && rule.code <= OpCode::logical_not;
        if (rule.code >= OpCode::add_wrap && rule.code <= OpCode::and_bits) facts.inputs.assign(3, {DType::i32, {n}});
        if (bools) facts.inputs.assign(3, {DType::boolean, {n}});
        if (rule.code == OpCode::select) facts.inputs[0].dtype = DType::boolean;
        if (rule.code == OpCode::powi) facts.inputs[1].dtype = DType::i32;
        for (const testing::Data data : {testing::Data::bell, testing::Data::heavy, testing::Data::special}) {
            const std::vector<Tensor> inputs = testing::random_inputs(facts, data, random);
            const DType first = facts.inputs[rule.code == OpCode::select ? 1 : 0].dtype;
            const auto result = [&](const Loops& loops, unsigned moving, std::size_t length) {
                LoopOperand in[3];
                for (unsigned i = 0; i < 3; ++i) in[i] = {inputs[i].data.data(), (moving >> i & 1) != 0};
                Bytes out(4 * n);
                loops.element(rule.code, first, bools ? DType::boolean : DType::f32)(in, out.data(), length);
                return out;
            };
            for (const Loops& copy : copies) {
                for (unsigned moving = 0; moving < 8; ++moving) {
                    for (const std::size_t length : {0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 128, 1003}) {
                        ASSERT_EQ(result(copy, moving, length), result(loops_generic(), moving, length))
                            << rule.name << " " << moving << " " << length;
                    }
                }
            }
        }
    }
}

/// Kernel, stride and padding of windows on one line of values.
struct LineWindows {
    std::uint64_t line, kernel, stride, padding;
};

TEST(OpParity, WindowsOfLongLinesAndInThePadding) {
    ThreadPool pool(1);
    std::mt19937_64 random(5);
    for (const auto& [line, kernel, stride, padding] :
         {LineWindows{700, 5, 1, 2}, LineWindows{600, 512, 3, 40}, LineWindows{600, 513, 3, 40},
          LineWindows{700, 600, 50, 9}, LineWindows{3, 2, 1, 9}, LineWindows{1, 3, 2, 7}}) {
        SCOPED_TRACE(::testing::Message() << line << " " << kernel << " " << stride << " " << padding);
        OpFacts facts;
        facts.op = {OpCode::window_gather, {0}, {1, kernel, 1, stride, 0, padding, to_bits(-0.5f)}, {}};
        facts.inputs = {{DType::f32, {2, 2, 1, line}}};
        facts.output = {DType::f32, {2 * ((line + 2 * padding - kernel) / stride + 1), 2 * kernel}};
        ASSERT_TRUE(check_facts(facts)) << check_facts(facts).error().message;
        const OpCase one{"windows", facts, testing::random_inputs(facts, testing::Data::bell, random)};
        EXPECT_EQ(run(one, find_cpu_kernel(facts), pool, 0), run(one, nullptr, pool, 0));
    }
}

TEST(OpParity, AnUpdateOfSomeElementsMayOverwriteItsFirstOperand) {
    ThreadPool pool(2);
    int tried = 0;
    for (const OpCase& one : testing::random_cases(20260105, 12)) {
        if (!updates_first_operand(one.facts.op.code)) continue;
        std::vector<Tensor> inputs = one.inputs;
        std::vector<const std::uint8_t*> at;
        for (const Tensor& input : inputs) at.push_back(input.data.data());
        find_cpu_kernel(one.facts)({one.facts, at, inputs[0].data.data(), 0, 0, pool});
        EXPECT_EQ(inputs[0], run(one, nullptr, pool, 0)) << one.name;
        ++tried;
    }
    EXPECT_EQ(tried, 24);
}

TEST(OpParity, AStateMayBeOverwrittenElementByElement) {
    std::mt19937_64 random(3);
    ThreadPool pool(2);
    OpFacts facts;
    facts.op.code = OpCode::fma;
    facts.inputs.assign(3, {DType::f32, {100, 333}});
    facts.output = facts.inputs[0];
    OpCase one{"fma", facts, testing::random_inputs(facts, testing::Data::bell, random)};
    const Tensor expected = run(one, nullptr, pool, 0);
    for (std::size_t slot = 0; slot < 3; ++slot) {
        std::vector<Tensor> inputs = one.inputs;
        std::vector<const std::uint8_t*> at;
        for (const Tensor& input : inputs) at.push_back(input.data.data());
        run_elementwise({facts, at, inputs[slot].data.data(), 0, 0, pool});
        EXPECT_EQ(inputs[slot], expected);
    }
}

}  // namespace
}  // namespace retrace::kernels
