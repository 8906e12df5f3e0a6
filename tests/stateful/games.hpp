// SPDX-License-Identifier: MIT
// A game from a seed or from the bytes of an input, and what many of them came to.
#pragma once

#include "tests/stateful/players.hpp"

namespace retrace::stateful {

struct Depth {
    World::Counts calls;  ///< By method and verdict.
    Reached reached;
    Costs costs;
    std::uint64_t calls_in_all = 0, games = 0, restarted = 0, replayed = 0;
    void add(const World& world);
    /// Calls of a method that were accepted.
    std::uint64_t accepted(std::string_view method) const;
};
/// Names of the methods, states, endings and kinds that were never reached, in words.
std::vector<std::string> never_reached(const Depth& depth);
std::string to_text(const Depth& depth);
std::string to_json(const Depth& depth);

struct Played {
    std::optional<Failure> failure;
    Trace trace;
};
/// What may differ from one game to the next, from the seed: some restart, some are played twice and
/// compared.
Played play_seed(std::uint64_t seed, Options options, Depth& depth, View input = {});
/// Whether the trace, played in one go and without a store, ends in the same state.
std::optional<Failure> compare_replay(const World& world, const Options& options);

}  // namespace retrace::stateful
