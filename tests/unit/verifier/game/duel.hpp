// SPDX-License-Identifier: MIT
// Plays a dispute between two parties with different accounts of one segment to its end.
#pragma once

#include <functional>

#include "kernels/commit/contract.hpp"
#include "kernels/program/codec.hpp"
#include "solver/run/step_runner.hpp"
#include "verifier/game/game.hpp"
#include "verifier/player/player.hpp"

namespace retrace::test {

/// Everything that a task defines; it must outlive the parties.
struct Arena {
    kernels::ThreadPool pool{1};
    kernels::CommittedProgram program;
    std::vector<kernels::Tensor> data;
    std::vector<Hash32> data_roots;
    std::uint64_t seed = 11;

    explicit Arena(kernels::Program plan, std::vector<kernels::Tensor> datasets = {});
    kernels::Inputs inputs() const;
    verifier::Facts facts() const;
};

/// A runner whose executor may be tampered with.
class TamperedRunner final : public solver::ProgramRunner {
public:
    TamperedRunner(const Arena& arena, kernels::ThreadPool& pool, kernels::Executor::Tamper tamper)
        : ProgramRunner(arena.program.program(), arena.inputs(), pool) {
        executor().set_tamper(std::move(tamper));
    }
};

/// Flips one bit of one element of an op's output in one step.
kernels::Executor::Tamper flip(std::uint64_t step, std::uint32_t op, std::uint64_t element, std::uint32_t bit = 0);

struct Party {
    TamperedRunner runner;
    verifier::Replayer replay;
    Party(Arena& arena, const kernels::State& start, std::uint64_t last_step, kernels::Executor::Tamper tamper = {});
};

/// May replace a player's move; nullopt keeps it.
using Liar = std::function<std::optional<verifier::Move>(const verifier::Game&, verifier::Side, verifier::Replayer&)>;

struct Outcome {
    verifier::Game game;
    double referee_ms = 0;
    bool stuck = false;  ///< A side could not move or its move was refused, so its clock ran out.
};

/// The facts of the position that a game about a group's member has found.
using PositionFacts = std::function<verifier::StepFacts(const verifier::Game&)>;

/// Plays to the end, and encodes and decodes every move and game. The claim is the solver's end root.
Outcome duel(Arena& arena, const kernels::State& start, Party& solver, Party& challenger, const Liar& liar = {});
Outcome play(verifier::Game game, verifier::Replayer& solver, verifier::Replayer& challenger, const Liar& liar = {},
             const PositionFacts& facts = {});

}  // namespace retrace::test
