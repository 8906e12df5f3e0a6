// SPDX-License-Identifier: MIT
// What kind of ledger a seed makes: its parameters, its parties, and how they behave.
#pragma once

#include "market/params.hpp"
#include "tests/stateful/draws.hpp"

namespace retrace::stateful {

enum class Kind : std::uint8_t {
    small = 0,     ///< Windows of a few blocks.
    defaults = 1,  ///< market::Params as it is.
    extreme = 2,   ///< Each number at an edge of its range, or anywhere in it.
    crowd = 3,     ///< More tasks than a party may run, few segments.
    lengthy = 4,   ///< More segments than a run may have open.
};

struct Profile {
    Kind kind = Kind::small;
    market::Params params;
    std::uint32_t accounts = 24, solvers = 8,
                  verifiers = 8;  ///< The first ones; the last account asks for tasks.
    std::uint64_t tasks = 8;      ///< Open at a time,
    std::uint64_t tasks_in_all = 60;
    std::uint64_t segments = 6;    ///< Of a task, at most.
    std::uint64_t diligence = 85;  ///< Per cent of what is due that is done in a block.
    std::uint64_t cheats = 15;     ///< Per cent of the runs that are wrong somewhere,
    std::uint64_t liars = 6;       ///< and of the verdicts.
    std::uint64_t challenges = 4;  ///< Per cent of open windows that somebody challenges in a block.
    std::uint64_t attests = 80;    ///< Per cent of the audits whose auditors keep the state and are paid.
    std::uint64_t raises = 15;     ///< More replicas of a running task: one in so many blocks.
    std::uint64_t stops = 6;       ///< Per cent of the runs that go silent somewhere,
    std::uint64_t accepts = 90;    ///< and of the blocks in which a winner accepts.
    std::uint64_t odd = 8;         ///< Per cent of calls that are changed, or from anybody.
    std::uint64_t calls = 4'000;   ///< After which the game ends.
};

Profile profile_of(Draws& draws);
/// The longest that anything may last when nobody does anything, for World::drain.
std::uint64_t longest_wait(const market::Params& params);

}  // namespace retrace::stateful
