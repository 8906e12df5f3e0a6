// SPDX-License-Identifier: MIT
// Plays a game from a seed or from the bytes of an input, and sums up the coverage of many games.
#pragma once

#include "tests/stateful/players.hpp"

namespace retrace::stateful {

struct Coverage {
    World::Counts calls;  ///< By method and status.
    Reached reached;
    Costs costs;
    std::uint64_t calls_in_all = 0, games = 0, restarted = 0, replayed = 0;
    void add(const World& world);
    /// Number of accepted calls of a method.
    std::uint64_t accepted(std::string_view method) const;
};
/// Names of the methods, states, endings and kinds that were never reached.
std::vector<std::string> never_reached(const Coverage& coverage);
std::string to_text(const Coverage& coverage);
std::string to_json(const Coverage& coverage);

struct Played {
    std::optional<Failure> failure;
    Trace trace;
};
/// Plays the game of a seed. The seed also decides whether the game restarts and whether it is played twice and
/// compared.
Played play_seed(std::uint64_t seed, Options options, Coverage& coverage, View input = {});
/// Checks that the trace, played without a store or restarts, ends in the same state.
std::optional<Failure> compare_replay(const World& world, const Options& options);

}  // namespace retrace::stateful
