// SPDX-License-Identifier: MIT
// Plays many seeds on several threads. The result does not depend on the number of threads.
#pragma once

#include <functional>

#include "tests/simulation/composed.hpp"
#include "tests/simulation/group_scenario.hpp"

namespace retrace::sim {

/// The kind of scenario that is drawn from a seed.
enum class ScenarioKind : std::uint8_t { single, composed, group };

/// One run and, for composed adversaries, the judgement of its result.
struct Played {
    Outcome outcome;
    std::optional<Judgement> judgement;
};
Played play_seed(std::uint64_t seed, ScenarioKind kind, const Catalogue& catalogue, const RunOptions& options);

struct Summary {
    std::uint64_t runs = 0, violations = 0, honest_slashed = 0, frauds_audited = 0, frauds_convicted = 0;
    std::vector<std::uint64_t> failed_seeds;  ///< In ascending order of position in `seeds`.
    std::optional<Judgement> judgement;       ///< All runs together; set for composed adversaries only.

    void add(const Outcome& outcome) { add({outcome, std::nullopt}); }
    void add(const Played& played);
    bool good() const { return violations == 0 && failed_seeds.empty(); }
};
/// One line of JSON, as `retrace-sim --json` prints it.
std::string to_json(const Summary& summary);

/// Called on the thread that started the batch, in the order of the seeds.
using OnOutcome = std::function<void(const Played&)>;
/// Plays all seeds. With `threads` 0, uses as many threads as the machine has.
Summary run_seeds(const std::vector<std::uint64_t>& seeds, ScenarioKind kind, const Catalogue& catalogue,
                  Sabotage sabotage, unsigned threads, const OnOutcome& on_outcome = {});

/// Makes an abort print which seed was being played on the thread that aborted.
void name_seed_on_abort();

}  // namespace retrace::sim
