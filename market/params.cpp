// SPDX-License-Identifier: MIT
#include "market/params.hpp"

#include "market/record.hpp"

namespace retrace::market {
namespace {

constexpr std::uint64_t kDurationMax = 1'000'000'000;
constexpr std::uint64_t kCapabilityDrawsMax = 8;  // Elements that fit one transaction (solver/capability).

}  // namespace

Bytes encode(const Params& params) { return encode_record(params); }

Result<Params> decode_params(View bytes) {
    auto params = decode_record<Params>(bytes);
    if (!params) return error("contract parameters: " + std::string(slug(params.error())));
    RETRACE_CHECK(check(*params));
    return std::move(*params);
}

Status<> check(const Params& p) {
    for (const std::uint64_t blocks :
         {p.epoch_blocks, p.bid_blocks, p.reveal_blocks, p.accept_blocks, p.checkpoint_blocks, p.open_blocks,
          p.verdict_blocks, p.reveal_segment_blocks, p.reveal_verdict_blocks, p.challenge_blocks, p.deliver_blocks,
          p.answer_blocks, p.unbond_blocks, p.move_blocks, p.moves, p.capability_blocks, p.capability_rest_blocks,
          p.unaudited_blocks})
        if (blocks == 0 || blocks > kDurationMax) return error("contract parameters: a duration is out of range");
    for (const U256& amount : {p.bid_deposit, p.min_verifier_stake, p.min_solver_stake, p.audit_bond, p.challenge_bond,
                               p.report_fee, p.audit_fee, p.beacon_penalty, p.capability_penalty})
        if (amount.limbs()[2] != 0 || amount.limbs()[3] != 0)
            return error("contract parameters: an amount is 2^128 or more");
    for (const std::uint64_t share :
         {p.challenger_share_bp, p.silence_penalty_bp, p.solver_cost_bp, p.collusion_bp, p.capability_bp})
        if (share >= kBasisPoints) return error("contract parameters: a share is 100 % or more");
    if (p.audit_fee_bp > kBasisPoints)
        return error("contract parameters: the audit fee is more than the price of the segment");
    if (p.safety_bp < kBasisPoints || p.safety_bp > 100 * kBasisPoints)
        return error("contract parameters: the safety factor is not between 1 and 100");
    if (p.capability_slack_bp < kBasisPoints || p.capability_slack_bp > 100 * kBasisPoints)
        return error("contract parameters: the slack of capability is not between 1 and 100");
    if (p.audit_bond > p.min_verifier_stake)
        return error("contract parameters: the audit bond is over the least stake of a verifier");
    if (p.rounds == 0 || p.rounds > 64 || p.redraws > 16 || p.reports == 0 || p.reports > 64 ||
        p.capability_draws == 0 || p.capability_draws > kCapabilityDrawsMax)
        return error("contract parameters: a count is out of range");
    return Unit{};
}

}  // namespace retrace::market
