// SPDX-License-Identifier: MIT
// SPEC 17.5 and 17.7. A solver claims rounds of its benchmark, and then proves the drawn elements.
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/rules/staking/rules.hpp"
#include "market/capability.hpp"
#include "solver/capability/evidence.hpp"

namespace retrace::contracts {
namespace {

using market::Challenge;
using market::ChallengeState;

/// Returns ok if the challenge is the sender's and waits for this move.
CallStatus admit_move(std::uint64_t id, ChallengeState wanted, const TxContext& context, const StateView& view) {
    const auto challenge = views::challenge(view, id);
    if (!challenge) return CallStatus::unknown_challenge;                        // 17.4.1
    if (challenge->solver != context.sender) return CallStatus::not_challenged;  // 17.4.2
    if (challenge->state != wanted) return CallStatus::wrong_challenge_state;    // 17.4.3
    if (context.height > challenge->deadline) return CallStatus::too_late;       // 17.4.4
    return CallStatus::ok;
}

std::vector<solver::CapabilityDraw> draws_of(const Challenge& challenge, const Params& params) {
    return solver::capability_draws(challenge.draw_beacon, challenge.id, challenge.rounds,
                                    static_cast<std::uint32_t>(params.capability_draws));
}

}  // namespace

CallStatus check(const AnswerCapability& call) {
    if (call.rounds == 0 || call.rounds > solver::kCapabilityRoundsMax)
        return CallStatus::rounds_out_of_range;                   // 17.5.1
    if (call.root.is_zero()) return CallStatus::commitment_zero;  // 17.5.2
    return CallStatus::ok;
}

CallStatus admit(const AnswerCapability& call, const TxContext& context, const StateView& view) {
    return admit_move(call.challenge, ChallengeState::running, context, view);
}

void apply(const AnswerCapability& call, const TxContext& context, Effects& fx) {
    auto challenge = must_load<Challenge>(fx.state, keys::challenge(call.challenge));
    challenge.state = ChallengeState::answered;
    challenge.rounds = call.rounds;
    challenge.root = call.root;
    challenge.answer_height = fx.height;
    // No move is due until then; at that height the draw is known.
    challenge.deadline = next_draw_height(fx.params, fx.height);
    store(fx.state, keys::challenge(challenge.id), challenge);
    schedule(fx, challenge.deadline, {ScheduledKind::challenge, challenge.id, 0, 0});
    fx.emit(CapabilityAnswered{context.sender, challenge.id, challenge.rounds, challenge.root});
}

CallStatus check(const ProveCapability& call) {
    if (!solver::decode_capability_proof(call.proof)) return CallStatus::bad_capability_proof;  // 17.7.1
    return CallStatus::ok;
}

CallStatus admit(const ProveCapability& call, const TxContext& context, const StateView& view) {
    if (const CallStatus status = admit_move(call.challenge, ChallengeState::proving, context, view);
        status != CallStatus::ok)
        return status;
    const auto challenge = views::challenge(view, call.challenge).value();
    const auto proof = solver::decode_capability_proof(call.proof);
    const auto right = solver::verify_capability(proof.value(), challenge.seed, challenge.rounds, challenge.root,
                                                 draws_of(challenge, context.params));
    return right ? CallStatus::ok : CallStatus::wrong_capability_proof;  // 17.7.2
}

void apply(const ProveCapability& call, const TxContext& context, Effects& fx) {
    auto challenge = must_load<Challenge>(fx.state, keys::challenge(call.challenge));
    challenge.state = ChallengeState::proved;
    challenge.deadline = 0;
    challenge.score = market::capability_score(challenge.rounds * solver::kCapabilityRoundCost, challenge.seed_height,
                                               challenge.answer_height, fx.params.capability_blocks);
    store(fx.state, keys::challenge(challenge.id), challenge);
    auto info = must_load<market::SolverInfo>(fx.state, keys::solver(context.sender));
    // 17.10: a solver that left the list meanwhile gets no score, because it could not be challenged again.
    const auto listed = views::solvers(fx.state);
    if (std::binary_search(listed.begin(), listed.end(), context.sender)) info.capability = challenge.score;
    info.capability_height = fx.height;
    store(fx.state, keys::solver(context.sender), info);
    fx.emit(
        CapabilityMeasured{context.sender, challenge.id, info.capability, static_cast<std::uint8_t>(challenge.state)});
}

}  // namespace retrace::contracts
