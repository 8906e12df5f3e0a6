// SPDX-License-Identifier: MIT
// Measured capability: challenges, scores, and the value of a score in an auction. SPEC 9. Pure: no state. The
// benchmark and its proofs are in solver/capability.
#pragma once

#include <optional>

#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::market {

/// A measurement of one solver, from the challenge to its outcome. Only the newest of each solver is stored.
enum class ChallengeState : std::uint8_t {
    waiting = 1,   ///< The beacon that sets its seed is not known yet.
    running = 2,   ///< The solver owes answerCapability.
    answered = 3,  ///< The beacon that draws elements is not known yet.
    proving = 4,   ///< The solver owes proveCapability.
    proved = 5,
    unproved = 6,  ///< Claimed, but not proved in time.
    unanswered = 7,
};
constexpr ChallengeState last_of(ChallengeState) { return ChallengeState::unanswered; }
std::string_view slug(ChallengeState state) noexcept;
inline bool is_open(ChallengeState state) noexcept { return state < ChallengeState::proved; }

struct Challenge {
    std::uint64_t id = 0;
    Address solver;
    ChallengeState state{};
    std::uint64_t opened_height = 0;
    std::uint64_t seed = 0;         ///< Seed of the benchmark; 0 while waiting.
    std::uint64_t seed_height = 0;  ///< Height at which the seed became known: the window begins.
    std::uint64_t deadline = 0;     ///< Last height for the move that is due; 0 when none is.
    std::uint64_t rounds = 0;       ///< Claimed rounds.
    Hash32 root;                    ///< Root of the claimed benchmark run.
    std::uint64_t answer_height = 0;
    Hash32 draw_beacon;       ///< Beacon that draws the elements to be shown; zero until proving.
    std::uint64_t score = 0;  ///< Multiply-adds per block; 0 unless proved.
    bool operator==(const Challenge&) const = default;
    static auto tie(auto& c) {
        return std::tie(c.id, c.solver, c.state, c.opened_height, c.seed, c.seed_height, c.deadline, c.rounds, c.root,
                        c.answer_height, c.draw_beacon, c.score);
    }
    static Names names() {
        return {"id",       "solver", "state", "openedHeight", "seed",       "seedHeight",
                "deadline", "rounds", "root",  "answerHeight", "drawBeacon", "score"};
    }
};

/// Whether the beacon challenges this solver, with probability `capability_bp` / 10,000.
bool is_challenged(const Hash32& beacon, const Address& solver, std::uint64_t capability_bp);

/// Multiply-adds per block: `work` over the blocks from the seed to the answer, counted as at least half the window, so
/// that a short run that met one slow block scores no more than a long one.
std::uint64_t capability_score(std::uint64_t work, std::uint64_t seed_height, std::uint64_t answer_height,
                               std::uint64_t window);

/// The work that a task requires of a machine.
struct Demand {
    U256 work;                       ///< Remaining multiply-adds; zero: the task does not say.
    std::uint64_t start_height = 0;  ///< Height at which the work can begin.
    std::uint64_t slack_bp = 0;      ///< Factor by which a task may run faster than the benchmark, in basis points.
};
/// Returns the demand of a task whose auction ends at `start_height` and whose states up to `first_state` exist
/// already.
Demand demand_of(const Params& params, const TaskSpec& spec, std::uint64_t first_state, std::uint64_t start_height);

/// Factor in basis points by which a bid's weight grows because the machine is too slow for its promise: 10,000 when
/// its proved speed finishes by the promised height, in proportion up to `slack_bp`; nullopt beyond, and the bid is set
/// aside. A machine that was not measured gets 10,000.
std::optional<std::uint64_t> fitness_bp(const Demand& demand, std::uint64_t capability, std::uint64_t finish_height);

/// Whether two speeds are within a factor of two: replicas run side by side and wait for each other. Machines that were
/// not measured are alike among themselves only.
bool alike(std::uint64_t slower, std::uint64_t faster) noexcept;

}  // namespace retrace::market
