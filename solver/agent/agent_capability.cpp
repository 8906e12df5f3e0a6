// SPDX-License-Identifier: MIT
// Capability challenges: the benchmark runs concurrently with the agent's other work until the view's stop height.
#include "solver/agent/agent.hpp"

namespace retrace::solver {

void SolverAgent::measure(const SolverView& view, Output& out) {
    if (config_.bench == nullptr) return;
    if (!view.challenge) {
        if (stop_) *stop_ = true;
        claim_.reset();
        proof_.reset();
        return;
    }
    const ChallengeView& challenge = *view.challenge;
    if (stop_ && (view.height >= challenge.stop_height || benched_ != challenge.id)) *stop_ = true;
    if (challenge.may_answer) answer_challenge(challenge, out);
    if (challenge.may_prove) prove_challenge(challenge, out);
}

void SolverAgent::answer_challenge(const ChallengeView& challenge, Output& out) {
    if (claim_ && claim_->challenge == challenge.id) {
        if (due("capability", challenge.id, 0, 0, height_))
            out.moves.emplace_back(AnswerCapability{challenge.id, claim_->claim.rounds, claim_->claim.root});
        return;
    }
    // Too late to start, for example after a restart: the score would be too low, and no answer costs only the score.
    if (benching_ || height_ >= challenge.stop_height) return;
    benching_ = true;
    benched_ = challenge.id;
    stop_ = std::make_shared<std::atomic<bool>>(false);
    out.benchmark = SolverWork{"measure challenge " + std::to_string(challenge.id),
                               [bench = config_.bench, id = challenge.id, seed = challenge.seed, stop = stop_,
                                limit = config_.bench_rounds_max] {
                                   return SolverResult(Measured{id, bench->run(id, seed, limit, *stop)});
                               }};
}

void SolverAgent::prove_challenge(const ChallengeView& challenge, Output& out) {
    if (proof_ && proof_->challenge == challenge.id) {
        if (due("capability proof", challenge.id, 0, 0, height_))
            out.moves.emplace_back(ProveCapability{challenge.id, proof_->proof});
        return;
    }
    if (benching_) return;
    benching_ = true;
    benched_ = challenge.id;
    out.benchmark = SolverWork{"prove challenge " + std::to_string(challenge.id),
                               [bench = config_.bench, id = challenge.id, seed = challenge.seed,
                                rounds = challenge.rounds, draws = challenge.draws] {
                                   return SolverResult(Proved{id, bench->prove(id, seed, rounds, draws)});
                               }};
}

}  // namespace retrace::solver
