// SPDX-License-Identifier: MIT
// Many seeds, on as many threads as there are; what comes out does not depend on how many.
#pragma once

#include <functional>

#include "tests/simulation/composed.hpp"

namespace retrace::sim {

/// What a seed is drawn into.
enum class Draw : std::uint8_t { single, composed };

/// One run and, of composed adversaries, what came of it.
struct Played {
    Outcome outcome;
    std::optional<Judgement> judgement;
};
Played play_seed(std::uint64_t seed, Draw draw, const Catalogue& catalogue, const RunOptions& options);

struct Summary {
    std::uint64_t runs = 0, violations = 0, honest_slashed = 0, frauds_audited = 0, frauds_convicted = 0;
    std::vector<std::uint64_t> failed_seeds;  ///< In the order of the seeds.
    std::optional<Judgement> judgement;       ///< Of all runs together, of composed adversaries.

    void add(const Outcome& outcome) { add({outcome, std::nullopt}); }
    void add(const Played& played);
    bool good() const { return violations == 0 && failed_seeds.empty(); }
};
/// One line, as `retrace-sim --json` prints it.
std::string to_json(const Summary& summary);

/// Called on the thread that started the batch, in the order of the seeds.
using OnOutcome = std::function<void(const Played&)>;
/// `threads` 0: as many as the machine has.
Summary run_seeds(const std::vector<std::uint64_t>& seeds, Draw draw, const Catalogue& catalogue, Sabotage sabotage,
                  unsigned threads, const OnOutcome& on_outcome = {});

/// Makes an abort print which seed was being played on the thread that aborted.
void name_seed_on_abort();

}  // namespace retrace::sim
