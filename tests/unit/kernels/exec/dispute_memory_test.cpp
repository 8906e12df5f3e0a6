// SPDX-License-Identifier: MIT
// The memory of a dispute is counted before a task is accepted: trees over tiles of one column, and the states.
#include "kernels/exec/dispute_memory.hpp"

#include <gtest/gtest.h>

#include "kernels/commit/commitment.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/ops/opcode.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kRows = 1 << 16;

/// A bool column, which fills 32 of the 1024 bytes of a tile.
Program columns() {
    Program program;
    program.states = 1;
    program.tensors.push_back({TensorKind::state, DType::boolean, {kRows, 1}, 2, "s"});
    for (int i = 0; i < 3; ++i)
        program.tensors.push_back({TensorKind::op_output, DType::boolean, {kRows, 1}, kNoWriter, ""});
    program.ops = {
        {OpCode::fill, {}, {1}, ""}, {OpCode::logical_not, {0}, {}, ""}, {OpCode::logical_and, {1, 2}, {}, ""}};
    return program;
}

TEST(DisputeMemory, CountsTheTreesOverAnOpsOutputAndInputs) {
    const Program program = columns();
    ASSERT_TRUE(check(program));
    ThreadPool pool(1);
    const merkle::TileTree tree = tile_tree(zeros(DType::boolean, {kRows, 1}), pool);
    std::uint64_t hashes = 0;
    for (std::uint32_t level = 0; level < tree.levels(); ++level)
        hashes += merkle::level_width(tree.leaf_count(), level);
    EXPECT_GT(hashes * sizeof(Hash32), kRows) << "more than the elements themselves";
    const std::uint64_t needed = 3 * (kRows + hashes * sizeof(Hash32));
    EXPECT_GE(move_memory_bytes(program), needed);
    EXPECT_LT(move_memory_bytes(program), needed + needed / 10);
}

TEST(DisputeMemory, CountsAnInputOnceHoweverOftenItIsRead) {
    Program program = columns();
    program.ops[2].inputs = {2, 2};
    EXPECT_LT(move_memory_bytes(program), move_memory_bytes(columns()));
}

TEST(DisputeMemory, CountsCopiesOfConstantsAndNoneOfStates) {
    Program program = columns();
    const std::uint64_t of_an_output = move_memory_bytes(program);
    program.tensors[1].kind = TensorKind::constant;
    EXPECT_EQ(move_memory_bytes(program), of_an_output);
    program.tensors[1].kind = TensorKind::state;
    EXPECT_EQ(move_memory_bytes(program), of_an_output - kRows);
}

TEST(DisputeMemory, CountsTheStatesThatADisputeKeeps) {
    const Program program = columns();
    ThreadPool pool(1);
    EXPECT_EQ(state_bytes(program), kRows);
    const Executor executor(program, pool);
    const std::uint64_t apart = 2 * kRows;  // The third op needs at least two outputs in memory.
    EXPECT_GE(executor.dispute_bytes(), apart + move_memory_bytes(program) + 2 * state_bytes(program));
}

}  // namespace
}  // namespace retrace::kernels
