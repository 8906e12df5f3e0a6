// SPDX-License-Identifier: MIT
#include "solver/agent/capability_agent.hpp"

namespace retrace::solver {

CapabilityAgent::Output CapabilityAgent::on_view(std::uint64_t height, const std::optional<ChallengeView>& challenge) {
    Output out;
    if (bench_ == nullptr) return out;
    outbox_.sweep(height);
    if (!challenge) {
        if (stop_) *stop_ = true;
        claim_.reset();
        proof_.reset();
        return out;
    }
    if (stop_ && (height >= challenge->stop_height || newest_ != challenge->id)) *stop_ = true;
    if (challenge->may_answer) answer(*challenge, height, out);
    if (challenge->may_prove) prove(*challenge, height, out);
    return out;
}

void CapabilityAgent::on_done(const CapabilityResult& result) {
    busy_ = false;
    if (const auto* measured = std::get_if<Measured>(&result))
        claim_ = *measured;
    else
        proof_ = std::get<Proved>(result);
}

void CapabilityAgent::answer(const ChallengeView& challenge, std::uint64_t height, Output& out) {
    if (claim_ && claim_->challenge == challenge.id) {
        if (due("capability", challenge.id, height))
            out.moves.emplace_back(AnswerCapability{challenge.id, claim_->claim.rounds, claim_->claim.root});
        return;
    }
    // Too late to start, for example after a restart: the score would be too low, and no answer costs only the score.
    if (busy_ || height >= challenge.stop_height) return;
    busy_ = true;
    newest_ = challenge.id;
    stop_ = std::make_shared<std::atomic<bool>>(false);
    out.work =
        CapabilityWork{"measure challenge " + std::to_string(challenge.id),
                       [bench = bench_, id = challenge.id, seed = challenge.seed, stop = stop_, limit = rounds_max_] {
                           return CapabilityResult(Measured{id, bench->run(id, seed, limit, *stop)});
                       }};
}

void CapabilityAgent::prove(const ChallengeView& challenge, std::uint64_t height, Output& out) {
    if (proof_ && proof_->challenge == challenge.id) {
        if (due("capability proof", challenge.id, height))
            out.moves.emplace_back(ProveCapability{challenge.id, proof_->proof});
        return;
    }
    if (busy_) return;
    busy_ = true;
    newest_ = challenge.id;
    out.work = CapabilityWork{
        "prove challenge " + std::to_string(challenge.id),
        [bench = bench_, id = challenge.id, seed = challenge.seed, rounds = challenge.rounds, draws = challenge.draws] {
            return CapabilityResult(Proved{id, bench->prove(id, seed, rounds, draws)});
        }};
}

bool CapabilityAgent::due(const char* what, std::uint64_t challenge, std::uint64_t height) {
    return outbox_.due(std::string(what) + " " + std::to_string(challenge), height);
}

}  // namespace retrace::solver
