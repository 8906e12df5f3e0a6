// SPDX-License-Identifier: MIT
// Measured capability: challenges, scores, and what a score is worth in an auction. SPEC 9. Pure: no state.
// The program that is run and what proves it: solver/capability.
#pragma once

#include <optional>

#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::market {

/// A measurement of one solver, from the challenge to its outcome. The newest of each solver is stored.
enum class ChallengeState : std::uint8_t {
    waiting = 1,   ///< The beacon that makes its seed is not known yet.
    running = 2,   ///< Solver: answerCapability.
    answered = 3,  ///< The beacon that draws elements is not known yet.
    proving = 4,   ///< Solver: proveCapability.
    proved = 5,
    unproved = 6,  ///< Claimed, and not shown in time.
    unanswered = 7,
};
constexpr ChallengeState last_of(ChallengeState) {
    return ChallengeState::unanswered;
}
std::string_view slug(ChallengeState state) noexcept;
inline bool is_open(ChallengeState state) noexcept {
    return state < ChallengeState::proved;
}

struct Challenge {
    std::uint64_t id = 0;
    Address solver;
    ChallengeState state{};
    std::uint64_t opened_height = 0;
    std::uint64_t seed = 0;         ///< Of the benchmark; 0 while waiting.
    std::uint64_t seed_height = 0;  ///< When it was known: the window begins.
    std::uint64_t deadline = 0;     ///< Last height of the move that is due; 0 when none is.
    std::uint64_t rounds = 0;       ///< Claimed.
    Hash32 root;                    ///< Of the claimed run.
    std::uint64_t answer_height = 0;
    Hash32 draw_beacon;       ///< Draws the elements that are to be shown; zero until proving.
    std::uint64_t score = 0;  ///< Multiply-adds for each block; 0 unless proved.
    bool operator==(const Challenge&) const = default;
    static auto tie(auto& c) {
        return std::tie(c.id, c.solver, c.state, c.opened_height, c.seed, c.seed_height, c.deadline, c.rounds,
                        c.root, c.answer_height, c.draw_beacon, c.score);
    }
    static Names names() {
        return {"id",       "solver", "state", "openedHeight", "seed",       "seedHeight",
                "deadline", "rounds", "root",  "answerHeight", "drawBeacon", "score"};
    }
};

/// Whether the beacon challenges this solver, with probability `capability_bp` / 10,000.
bool is_challenged(const Hash32& beacon, const Address& solver, std::uint64_t capability_bp);

/// Multiply-adds for each block: `work` over the blocks from the seed to the answer, at least half the
/// window. So a short run that was lucky with one slow block counts no more than a long one.
std::uint64_t capability_score(std::uint64_t work, std::uint64_t seed_height, std::uint64_t answer_height,
                               std::uint64_t window);

/// What a task asks of a machine.
struct Demand {
    U256 work;                       ///< Multiply-adds that are left; zero: the task does not say.
    std::uint64_t start_height = 0;  ///< When the work can begin.
    std::uint64_t slack_bp = 0;      ///< How much faster than on the benchmark a machine may be on a task.
};
/// Of a task whose auction ends at `start_height` and whose states below `first_state` are there.
Demand demand_of(const Params& params, const TaskSpec& spec, std::uint64_t first_state,
                 std::uint64_t start_height);

/// How a bid's weight grows because the machine is too slow for what it promises, in basis points: 10,000
/// when its proved speed does the work by its finishing height, in proportion up to `slack_bp`; nullopt
/// beyond: set aside. A machine that was not measured is not judged here.
std::optional<std::uint64_t> fitness_bp(const Demand& demand, std::uint64_t capability,
                                        std::uint64_t finish_height);

/// Replicas run side by side and wait for each other, so their speeds are to be alike: within a factor of
/// two. Machines that were not measured are alike among themselves alone.
bool alike(std::uint64_t slower, std::uint64_t faster) noexcept;

}  // namespace retrace::market
