// SPDX-License-Identifier: MIT
// Every op kind at every level A to E: two parties whose accounts differ in exactly one bit there. Checks the winner,
// the rounds and the amount of evidence (SPEC 7). Links of chains (level D) are also tested one by one in
// game_ops_test.cpp.
#include <gtest/gtest.h>

#include "kernels/ops/op.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/verifier/game/duel.hpp"
#include "tests/unit/verifier/game/op_cases.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

enum class Level { steps, ops, tiles, links, element };
constexpr const char* kLevelNames[] = {"A_steps", "B_ops", "C_tiles", "D_links", "E_element"};

/// A wrong bit of one op's output in one step.
struct Fault {
    OpCase at;
    std::uint64_t steps = 1, step = 0;
    std::uint32_t op = 0;
    std::uint64_t element = 0;
    std::uint32_t bit = 0;
};

constexpr std::uint32_t kNeighbours = 20;

/// The op with others before and after it, so that level B has a range to narrow.
OpCase surrounded(const OpCase& bare) {
    OpCase out = bare;
    const kernels::OpRecord filler{kernels::OpCode::iota, {}, {0}, ""};
    const kernels::TensorRecord number{
        kernels::TensorKind::op_output, kernels::DType::i32, {5}, kernels::kNoWriter, ""};
    kernels::Program& program = out.program;
    program.ops.insert(program.ops.begin(), kNeighbours, filler);
    program.ops.insert(program.ops.end(), kNeighbours, filler);
    program.tensors.insert(program.tensors.begin() + program.tensors_static(), kNeighbours, number);
    program.tensors.insert(program.tensors.end(), kNeighbours, number);
    program.tensors[program.states - 1].writer = kNeighbours;
    return out;
}

std::uint32_t highest_bit(kernels::DType dtype) {
    return dtype == kernels::DType::boolean ? 0 : 8 * kernels::size_of(dtype) - 1;
}

Fault fault_at(const OpCase& bare, Level level) {
    const kernels::OpFacts facts = kernels::facts_of(bare.program, 0);
    const std::uint64_t elements = kernels::geometry(facts.output.dims).elements();
    switch (level) {
        case Level::steps: return {bare, 20, 13, 0, 0, 0};
        case Level::ops: return {surrounded(bare), 1, 0, kNeighbours, elements / 2, 0};
        case Level::tiles: return {bare, 1, 0, 0, elements - 1, 0};
        case Level::links: return {bare, 1, 0, 0, elements / 3, 0};
        case Level::element: break;
    }
    return {bare, 1, 0, 0, elements / 2, highest_bit(facts.output.dtype)};
}

std::uint32_t rounds_over(std::uint64_t positions) {
    std::uint32_t rounds = 0;
    for (std::uint64_t reach = 1; reach < positions; reach *= kArity) ++rounds;
    return rounds;
}

/// SPEC 7.1
std::uint32_t rounds_max(const Fault& fault) {
    const kernels::OpFacts facts = kernels::facts_of(fault.at.program, fault.op);
    return rounds_over(fault.steps) + rounds_over(fault.at.program.states) + rounds_over(fault.at.program.ops.size()) +
           rounds_over(kernels::geometry(facts.output.dims).tiles()) + rounds_over(kernels::link_count(facts)) + 2;
}

class EveryLevel : public ::testing::TestWithParam<OpCase> {
protected:
    void play_at(Level level, bool solver_lies) {
        const Fault fault = fault_at(GetParam(), level);
        SCOPED_TRACE(std::string(kLevelNames[static_cast<int>(level)]) + (solver_lies ? ", solver" : ", challenger") +
                     " lies");
        Arena arena(fault.at.program);
        const auto lie = flip(fault.step, fault.op, fault.element, fault.bit);
        Party solver(arena, fault.at.start, fault.steps, solver_lies ? lie : kernels::Executor::Tamper{});
        Party challenger(arena, fault.at.start, fault.steps, solver_lies ? kernels::Executor::Tamper{} : lie);
        const Outcome outcome = duel(arena, fault.at.start, solver, challenger);
        const Game& game = outcome.game;
        EXPECT_EQ(game.loser, solver_lies ? Side::solver : Side::challenger);
        EXPECT_EQ(game.ending, solver_lies ? Ending::referee_solver_wrong : Ending::referee_challenger_wrong)
            << slug(game.ending);
        EXPECT_EQ(game.found.step, fault.step);
        EXPECT_EQ(game.found.op, fault.op);
        EXPECT_EQ(game.found.element, fault.element);
        // A wrong bit of the output belongs to the last link alone.
        EXPECT_EQ(game.found.link + 1, kernels::link_count(game.op));
        if (solver_lies) {
            EXPECT_EQ(game.found.claimed_bits ^ game.found.referee_bits, std::uint32_t{1} << fault.bit);
        }
        EXPECT_LE(game.rounds, rounds_max(fault));
        EXPECT_LE(game.rounds, 24u);
        EXPECT_LE(game.largest_move, 96u * 1024);
        EXPECT_LE(game.evidence_bytes, 160u * 1024);
#ifdef NDEBUG
        EXPECT_LE(outcome.referee_ms, kRefereeMs);
#endif
    }
};

TEST_P(EveryLevel, FindsTheBitAndWhoLied) {
    for (const Level level : {Level::steps, Level::ops, Level::tiles, Level::links, Level::element})
        for (const bool solver_lies : {true, false}) play_at(level, solver_lies);
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryLevel, ::testing::ValuesIn(op_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace retrace::test
