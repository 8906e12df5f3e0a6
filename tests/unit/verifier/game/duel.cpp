// SPDX-License-Identifier: MIT
#include "tests/unit/verifier/game/duel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace retrace::test {

using namespace verifier;

Arena::Arena(kernels::Program plan, std::vector<kernels::Tensor> datasets)
    : program(std::move(plan)), data(std::move(datasets)) {
    const auto checked = kernels::check(program.program());
    EXPECT_TRUE(checked.has_value()) << (checked ? "" : checked.error().message);
    for (const kernels::Tensor& tensor : data) data_roots.push_back(kernels::tensor_root(tensor, pool));
}

kernels::Inputs Arena::inputs() const {
    kernels::Inputs inputs{seed, {}};
    for (const kernels::Tensor& tensor : data) inputs.datasets.push_back(&tensor);
    return inputs;
}

Facts Arena::facts() const { return {kernels::contract_hash(), program.root(), program.root(), seed, data_roots}; }

kernels::Executor::Tamper flip(std::uint64_t step, std::uint32_t op, std::uint64_t element, std::uint32_t bit) {
    return [=](std::uint64_t at, std::uint32_t which, kernels::Tensor& output) {
        if (at != step || which != op) return;
        const std::uint32_t size = kernels::size_of(output.dtype);
        output.data[element * size + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    };
}

Party::Party(Arena& arena, const kernels::State& start, std::uint64_t last_step, kernels::Executor::Tamper tamper)
    : runner(arena, arena.pool, std::move(tamper)),
      replay({&arena.program, &arena.program, &runner, &arena.pool, arena.seed, arena.inputs().datasets}, start,
             last_step) {}

namespace {

/// Processor time of the move: the minimum of three measurements, to exclude the effect of other processes.
double referee_ms(const Game& game, Side side, const Move& move) {
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
        Game copy = game;
        timespec began{}, ended{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
        (void)apply(copy, side, move);
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
        const double ms = static_cast<double>(ended.tv_sec - began.tv_sec) * 1e3 +
                          static_cast<double>(ended.tv_nsec - began.tv_nsec) / 1e6;
        least = std::min(least, ms);
    }
    return least;
}

}  // namespace

Outcome play(Game game, Replayer& solver, Replayer& challenger, const Liar& liar, const PositionFacts& facts) {
    Outcome outcome;
    if (needs_position(game)) set_position(game, facts(game));
    while (game.phase != Phase::decided && !outcome.stuck) {
        const Side side = game.mover;
        Replayer& replay = side == Side::solver ? solver : challenger;
        std::optional<Move> move = liar ? liar(game, side, replay) : std::nullopt;
        if (!move) {
            auto own = next_move(game, side, replay);
            if (own) move = std::move(own).value();
        }
        if (!move) {
            outcome.stuck = true;
            break;
        }
        const Bytes wire = encode(*move);
        auto decoded = decode_move(wire);
        EXPECT_TRUE(decoded.has_value());
        EXPECT_EQ(encode(*decoded), wire);
        if (std::holds_alternative<ProveElement>(*move)) outcome.referee_ms = referee_ms(game, side, *decoded);
        const auto applied = apply(game, side, *decoded);
        outcome.stuck = !applied.has_value();
        if (needs_position(game)) set_position(game, facts(game));
        EXPECT_TRUE(game.phase != Phase::decided || kMayDecide.at(move->index())) << move->index();
        const Bytes stored = encode(game);
        auto reloaded = decode_game(stored);
        EXPECT_TRUE(reloaded.has_value());
        game = std::move(reloaded).value();
        EXPECT_EQ(encode(game), stored);
        if (game.rounds > 1000) break;
    }
    if (outcome.stuck) expire(game);
    outcome.game = std::move(game);
    return outcome;
}

Outcome duel(Arena& arena, const kernels::State& start, Party& solver, Party& challenger, const Liar& liar) {
    Claim claim;
    claim.first_step = start.step;
    claim.last_step = solver.replay.last_step();
    claim.start_root = kernels::commit_state(arena.program.root(), start, arena.pool).root;
    claim.end_root = solver.replay.end_root();
    return play(verifier::start(arena.facts(), claim), solver.replay, challenger.replay, liar);
}

}  // namespace retrace::test
