// SPDX-License-Identifier: MIT
#include "solver/artifacts/availability.hpp"

#include <gtest/gtest.h>

#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using namespace solver;

TEST(Availability, EveryTileOfAStateCanBeShownAndNothingElse) {
    TinyTask task;
    const kernels::State state = task.initial();
    const auto commitment = kernels::commit_state(task.train.root(), state, task.pool);
    for (std::uint32_t tensor = 0; tensor < state.tensors.size(); ++tensor) {
        const std::uint64_t tiles = kernels::geometry(state.tensors[tensor].dims).tiles();
        for (std::uint64_t tile = 0; tile < tiles; ++tile) {
            const Bytes wire = encode(answer_state_tile(task.train, commitment, state, tensor, tile, task.pool));
            EXPECT_LE(wire.size(), 6u * 1024);
            const auto answer = decode_tile_answer(wire);
            ASSERT_TRUE(answer.has_value());
            EXPECT_TRUE(verify_state_tile(*answer, task.train.root(), commitment.root, tensor, tile).has_value());
            EXPECT_FALSE(verify_state_tile(*answer, task.init.root(), commitment.root, tensor, tile).has_value());
            EXPECT_FALSE(verify_state_tile(*answer, task.train.root(), task.init.root(), tensor, tile).has_value());
            if (tensor > 0) {
                EXPECT_FALSE(
                    verify_state_tile(*answer, task.train.root(), commitment.root, tensor - 1, tile).has_value());
            }
        }
    }
}

TEST(Availability, WhatDoesNotExistIsAnsweredWithTheExtents) {
    TinyTask task;
    const kernels::State state = task.initial();
    const auto commitment = kernels::commit_state(task.train.root(), state, task.pool);
    const auto beyond = answer_state_tile(task.train, commitment, state, 1000, 7, task.pool);
    EXPECT_TRUE(verify_state_tile(beyond, task.train.root(), commitment.root, 1000, 7).has_value());
    EXPECT_FALSE(verify_state_tile(beyond, task.train.root(), commitment.root, 1, 0).has_value());
    const auto tile = answer_state_tile(task.train, commitment, state, 0, 99999, task.pool);
    EXPECT_TRUE(verify_state_tile(tile, task.train.root(), commitment.root, 0, 99999).has_value());
}

TEST(Availability, AStateWithoutTensorsIsAnsweredWithItsHeaders) {
    TinyTask task;
    const kernels::CommittedProgram program{kernels::Program{}};
    const kernels::State state;
    const auto commitment = kernels::commit_state(program.root(), state, task.pool);
    const auto answer = decode_tile_answer(encode(answer_state_tile(program, commitment, state, 0, 0, task.pool)));
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(verify_state_tile(*answer, program.root(), commitment.root, 0, 0).has_value());
    EXPECT_TRUE(verify_state_tile(*answer, program.root(), commitment.root, 3, 9).has_value());
    EXPECT_FALSE(verify_state_tile(*answer, task.train.root(), commitment.root, 0, 0).has_value());
    EXPECT_FALSE(verify_state_tile(*answer, program.root(), task.train.root(), 0, 0).has_value());
    TileAnswer more = *answer;
    more.tile = {1};
    EXPECT_FALSE(verify_state_tile(more, program.root(), commitment.root, 0, 0).has_value());
}

TEST(Availability, DataAndPrograms) {
    TinyTask task;
    const auto answer = answer_tensor_tile(task.data[0], 3, task.pool);
    EXPECT_TRUE(verify_tensor_tile(answer, task.terms.data_roots[0], 3).has_value());
    EXPECT_FALSE(verify_tensor_tile(answer, task.terms.data_roots[0], 2).has_value());
    EXPECT_FALSE(verify_tensor_tile(answer, task.terms.data_roots[1], 3).has_value());
    for (const std::uint32_t list : {0u, 1u}) {
        const auto record = decode_program_answer(encode(answer_program(task.train, list, 2)));
        ASSERT_TRUE(record.has_value());
        EXPECT_TRUE(verify_program_record(*record, task.train.root(), list, 2).has_value());
        EXPECT_FALSE(verify_program_record(*record, task.train.root(), list, 1).has_value());
        EXPECT_FALSE(verify_program_record(*record, task.init.root(), list, 2).has_value());
    }
}

/// The verifier's rule of 5.1 (bad_tile): a root over such bytes can be committed, but no computation can continue from
/// it, so showing them answers no report.
TEST(Availability, ATileThatNoTensorHasIsNoAnswer) {
    const auto answers = [](kernels::DType dtype, const Bytes& tile) {
        TileAnswer answer;
        answer.header = {dtype, {3}, merkle::tile_leaf(tile)};
        answer.tile = tile;
        return verify_tensor_tile(answer, answer.header.root(), 0).has_value();
    };
    const auto with = [](std::size_t size, std::size_t at, std::uint8_t byte) {
        Bytes tile(size);
        tile[at] = byte;
        return tile;
    };
    EXPECT_TRUE(answers(kernels::DType::f32, with(4096, 11, 1))) << "the last byte of the last element";
    EXPECT_FALSE(answers(kernels::DType::f32, with(4096, 12, 1))) << "padding";
    EXPECT_FALSE(answers(kernels::DType::f32, with(4096, 4095, 1))) << "padding of a row that is none";
    EXPECT_FALSE(answers(kernels::DType::f32, Bytes(4095))) << "too short";
    EXPECT_FALSE(answers(kernels::DType::boolean, Bytes(4096))) << "too long";
    EXPECT_TRUE(answers(kernels::DType::boolean, with(1024, 2, 1)));
    EXPECT_FALSE(answers(kernels::DType::boolean, with(1024, 2, 2))) << "a bool of 2";
}

TEST(Availability, FlippedBytesNeverVerify) {
    TinyTask task;
    const kernels::State state = task.initial();
    const auto commitment = kernels::commit_state(task.train.root(), state, task.pool);
    const Bytes wire = encode(answer_state_tile(task.train, commitment, state, 0, 0, task.pool));
    for (std::size_t at = 0; at < wire.size(); at += at < 400 ? 1 : 37) {
        Bytes bad = wire;
        bad[at] ^= 1;
        const auto answer = decode_tile_answer(bad);
        if (!answer) continue;
        EXPECT_FALSE(verify_state_tile(*answer, task.train.root(), commitment.root, 0, 0).has_value()) << at;
    }
}

}  // namespace
}  // namespace retrace::test
