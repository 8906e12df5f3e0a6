// SPDX-License-Identifier: MIT
// The ledger that a seed makes: its parameters, its parties, and their behaviour.
#pragma once

#include "market/params.hpp"
#include "tests/stateful/draws.hpp"

namespace retrace::stateful {

enum class Kind : std::uint8_t {
    small = 0,     ///< Windows of a few blocks.
    defaults = 1,  ///< market::Params as it is.
    extreme = 2,   ///< Each number at an edge of its range or anywhere in it.
    crowd = 3,     ///< More tasks than a party may run, with few segments.
    lengthy = 4,   ///< More segments than a run may have open.
};

struct Profile {
    Kind kind = Kind::small;
    market::Params params;
    std::uint32_t accounts = 24, solvers = 8,
                  verifiers = 8;  ///< Solvers come first, then verifiers; the last account is the requester.
    std::uint64_t tasks = 8;      ///< Tasks open at a time.
    std::uint64_t tasks_in_all = 60;
    std::uint64_t segments = 6;         ///< Maximum segments of a task.
    std::uint64_t diligence = 85;       ///< Per cent of due calls that are made in a block.
    std::uint64_t cheats = 15;          ///< Per cent of the runs that are wrong somewhere.
    std::uint64_t liars = 6;            ///< Per cent of the verdicts that are wrong.
    std::uint64_t challenges = 4;       ///< Per cent of open windows in which a party challenges, per block.
    std::uint64_t attests = 80;         ///< Per cent of the audits whose auditors keep the state and are paid.
    std::uint64_t raises = 15;          ///< Replicas of a running task are raised in one of so many blocks.
    std::uint64_t stops = 6;            ///< Per cent of the runs that go silent somewhere.
    std::uint64_t accepts = 90;         ///< Per cent of the blocks in which a winner accepts.
    std::uint64_t mutated_percent = 8;  ///< Per cent of calls that are changed or come from any party.
    std::uint64_t calls = 4'000;        ///< The game ends after so many calls.
};

Profile profile_of(Draws& draws);
/// Upper bound of the time for which any record stays open when all parties are silent, for World::drain.
std::uint64_t longest_wait(const market::Params& params);

}  // namespace retrace::stateful
