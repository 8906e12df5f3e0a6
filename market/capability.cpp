// SPDX-License-Identifier: MIT
#include "market/capability.hpp"

#include "merkle/hash/sha256.hpp"

namespace retrace::market {

std::string_view slug(ChallengeState state) noexcept {
    switch (state) {
        case ChallengeState::waiting: return "waiting";
        case ChallengeState::running: return "running";
        case ChallengeState::answered: return "answered";
        case ChallengeState::proving: return "proving";
        case ChallengeState::proved: return "proved";
        case ChallengeState::unproved: return "unproved";
        case ChallengeState::unanswered: return "unanswered";
    }
    return "unknown";
}

bool is_challenged(const Hash32& beacon, const Address& solver, std::uint64_t capability_bp) {
    const Hash32 digest = merkle::Sha256()
                              .update(view(std::string_view("retrace/capability/1")))
                              .update(view(beacon))
                              .update(view(solver))
                              .finish();
    return load_u64(digest.data()) % kBasisPoints < capability_bp;
}

std::uint64_t capability_score(std::uint64_t work, std::uint64_t seed_height, std::uint64_t answer_height,
                               std::uint64_t window) {
    const std::uint64_t elapsed = answer_height > seed_height ? answer_height - seed_height : 0;
    return work / std::max<std::uint64_t>({elapsed, window / 2 + window % 2, 1});
}

Demand demand_of(const Params& params, const TaskSpec& spec, std::uint64_t first_state, std::uint64_t start_height) {
    const std::uint64_t steps = spec.steps - std::min(spec.steps, spec.first_step(first_state));
    return {U256(spec.step_cost) * U256(steps), start_height, params.capability_slack_bp};
}

std::optional<std::uint64_t> fitness_bp(const Demand& demand, std::uint64_t capability, std::uint64_t finish_height) {
    if (demand.work.is_zero() || capability == 0) return kBasisPoints;
    const std::uint64_t blocks = finish_height > demand.start_height ? finish_height - demand.start_height : 0;
    const U256 able = U256(capability) * U256(blocks);  // Below 2^128, and the work is below 2^104: no overflow.
    if (able >= demand.work) return kBasisPoints;
    if (able * U256(demand.slack_bp) < demand.work * U256(kBasisPoints)) return std::nullopt;
    return ledger::mul_div(demand.work, kBasisPoints, able).low64();
}

bool alike(std::uint64_t slower, std::uint64_t faster) noexcept { return slower >= faster - slower; }

}  // namespace retrace::market
