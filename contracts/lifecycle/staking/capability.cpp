// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/staking/capability.hpp"

#include <algorithm>

#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/lifecycle/staking/stakes.hpp"
#include "market/capability.hpp"
#include "solver/capability/program.hpp"

namespace retrace::contracts {
namespace {

using market::Challenge;
using market::ChallengeState;

/// 17.9: the most challenges that one beacon opens, so that its blocks stay small for any number of solvers.
constexpr std::size_t kDrawnMax = 32;

/// 17.2: whether the solver may be challenged now. Registering again must not bring another measurement.
bool may_challenge(const Effects& fx, const market::SolverInfo& info) {
    if (info.challenge == 0) return true;
    if (market::is_open(must_load<Challenge>(fx.state, keys::challenge(info.challenge)).state)) return false;
    return fx.height >= info.challenge_height + fx.params.capability_rest_blocks;
}

void open_challenge(Effects& fx, const Address& solver, market::SolverInfo info) {
    if (info.challenge != 0) remove(fx.state, keys::challenge(info.challenge));
    Challenge challenge;
    challenge.id = next_id(fx.state, keys::challenge_count());
    challenge.solver = solver;
    challenge.state = ChallengeState::waiting;
    challenge.opened_height = fx.height;
    store(fx.state, keys::challenge(challenge.id), challenge);
    info.challenge = challenge.id;
    info.challenge_height = fx.height;
    store(fx.state, keys::solver(solver), info);
    const std::uint64_t seed_height = next_draw_height(fx.params, fx.height);
    schedule(fx, seed_height, {ScheduledKind::challenge, challenge.id, 0, 0});
    fx.emit(CapabilityChallenged{solver, challenge.id, seed_height});
}

void wait_until(Effects& fx, Challenge& challenge, ChallengeState state, std::uint64_t deadline) {
    challenge.state = state;
    challenge.deadline = deadline;
    store(fx.state, keys::challenge(challenge.id), challenge);
    schedule(fx, deadline + 1, {ScheduledKind::challenge, challenge.id, 0, 0});
}

/// Ends a challenge without a score.
void fail(Effects& fx, Challenge& challenge, ChallengeState state) {
    challenge.state = state;
    challenge.deadline = 0;
    store(fx.state, keys::challenge(challenge.id), challenge);
    auto info = must_load<market::SolverInfo>(fx.state, keys::solver(challenge.solver));
    info.capability = 0;
    info.capability_height = fx.height;
    store(fx.state, keys::solver(challenge.solver), info);
    fx.emit(CapabilityMeasured{challenge.solver, challenge.id, 0, static_cast<std::uint8_t>(state)});
}

/// Returns whether the list has the solver or a place for it. In a full list, the solver with the least bonded stake
/// leaves its place to one with more. The scan is paid for by the four items of a registration (9.4).
bool make_room(Effects& fx, const Address& solver) {
    const std::vector<Address> listed = views::solvers(fx.state);
    if (listed.size() < market::kSolversMax || std::binary_search(listed.begin(), listed.end(), solver)) return true;
    Address poorest;
    U256 least = views::stake(fx.state, solver).bonded;
    bool found = false;
    for (const Address& other : listed) {
        const U256 bonded = views::stake(fx.state, other).bonded;
        if (bonded >= least) continue;
        least = bonded;
        poorest = other;
        found = true;
    }
    // A challenge of the one that leaves goes on, and brings no score (17.10).
    if (found) delist_solver(fx, poorest);
    return found;
}

}  // namespace

void enlist_solver(Effects& fx, const Address& solver) {
    if (!make_room(fx, solver)) return;
    add_to_list(fx.state, keys::solvers(), solver);
    const auto info = must_load<market::SolverInfo>(fx.state, keys::solver(solver));
    if (may_challenge(fx, info)) open_challenge(fx, solver, info);
}

void delist_solver(Effects& fx, const Address& solver) {
    auto info = views::solver(fx.state, solver);
    if (!info) return;
    remove_from_list(fx.state, keys::solvers(), solver);
    // 17.10: only a solver that can be challenged again has a score.
    info->capability = 0;
    store(fx.state, keys::solver(solver), *info);
}

void draw_capability_challenges(Effects& fx, const Hash32& beacon) {
    if (fx.params.capability_bp == 0) return;
    std::size_t drawn = 0;
    for (const Address& solver : views::solvers(fx.state)) {
        if (!market::is_challenged(beacon, solver, fx.params.capability_bp)) continue;
        if (drawn++ == kDrawnMax) return;
        if (views::stake(fx.state, solver).bonded < fx.params.min_solver_stake) {
            delist_solver(fx, solver);  // A slash has reduced its stake.
            continue;
        }
        // 17.3: a benchmark during training would slow the training and distort the measurement.
        if (!views::open_runs(fx.state, solver).empty()) continue;
        const auto info = must_load<market::SolverInfo>(fx.state, keys::solver(solver));
        if (may_challenge(fx, info)) open_challenge(fx, solver, info);
    }
}

void handle_capability_challenge(Effects& fx, std::uint64_t id) {
    auto found = views::challenge(fx.state, id);
    if (!found) return;  // A newer challenge has replaced it.
    Challenge& challenge = *found;
    switch (challenge.state) {
        case ChallengeState::waiting:
            challenge.seed = solver::capability_seed(must_load<views::Beacon>(fx.state, keys::beacon()).value, id);
            challenge.seed_height = fx.height;
            return wait_until(fx, challenge, ChallengeState::running, fx.height + fx.params.capability_blocks);
        case ChallengeState::answered:
            // The answer's deadline comes before the beacon that draws is known.
            if (fx.height < challenge.deadline) return;
            challenge.draw_beacon = mixed_before(fx, challenge.deadline).beacon;
            return wait_until(fx, challenge, ChallengeState::proving, fx.height + fx.params.answer_blocks);
        case ChallengeState::running:
            if (fx.height > challenge.deadline) fail(fx, challenge, ChallengeState::unanswered);
            return;
        case ChallengeState::proving:
            if (fx.height <= challenge.deadline) return;
            fail(fx, challenge, ChallengeState::unproved);
            return slash_available(fx, challenge.solver, 0, fx.params.capability_penalty,
                                   SlashReason::capability_unproved);
        case ChallengeState::proved:
        case ChallengeState::unproved:
        case ChallengeState::unanswered: return;
    }
}

}  // namespace retrace::contracts
