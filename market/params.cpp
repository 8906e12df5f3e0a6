// SPDX-License-Identifier: MIT
#include "market/params.hpp"

#include "market/record.hpp"

namespace retrace::market {
namespace {

constexpr std::string_view kParameters = "contract parameters: ";  // Before the parameter's name.
constexpr std::uint64_t kDurationMax = 1'000'000'000;
constexpr std::uint64_t kCapabilityDrawsMax = 8;  // Elements that fit one transaction (solver/capability).

}  // namespace

Bytes encode(const Params& params) { return encode_record(params); }

Result<Params> decode_params(View bytes) {
    auto params = decode_record<Params>(bytes);
    if (!params) return error(std::string(kParameters) + std::string(slug(params.error())));
    RETRACE_CHECK(check(*params));
    return std::move(*params);
}

Status<> check(const Params& p) {
    struct Number {
        const char* name;
        std::uint64_t value, least, most;
    };
    const auto blocks = [](const char* name, std::uint64_t value) { return Number{name, value, 1, kDurationMax}; };
    const auto share = [](const char* name, std::uint64_t value) { return Number{name, value, 0, kBasisPoints - 1}; };
    for (const Number& number : {blocks("epoch_blocks", p.epoch_blocks),
                                 blocks("bid_blocks", p.bid_blocks),
                                 blocks("reveal_blocks", p.reveal_blocks),
                                 blocks("accept_blocks", p.accept_blocks),
                                 blocks("checkpoint_blocks", p.checkpoint_blocks),
                                 blocks("open_blocks", p.open_blocks),
                                 blocks("verdict_blocks", p.verdict_blocks),
                                 blocks("reveal_segment_blocks", p.reveal_segment_blocks),
                                 blocks("reveal_verdict_blocks", p.reveal_verdict_blocks),
                                 blocks("challenge_blocks", p.challenge_blocks),
                                 blocks("deliver_blocks", p.deliver_blocks),
                                 blocks("answer_blocks", p.answer_blocks),
                                 blocks("unbond_blocks", p.unbond_blocks),
                                 blocks("move_blocks", p.move_blocks),
                                 blocks("moves", p.moves),
                                 blocks("capability_blocks", p.capability_blocks),
                                 blocks("capability_rest_blocks", p.capability_rest_blocks),
                                 blocks("unaudited_blocks", p.unaudited_blocks),
                                 share("challenger_share_bp", p.challenger_share_bp),
                                 share("silence_penalty_bp", p.silence_penalty_bp),
                                 share("solver_cost_bp", p.solver_cost_bp),
                                 share("collusion_bp", p.collusion_bp),
                                 share("capability_bp", p.capability_bp),
                                 Number{"audit_fee_bp", p.audit_fee_bp, 0, kBasisPoints},
                                 Number{"safety_bp", p.safety_bp, kBasisPoints, 100 * kBasisPoints},
                                 Number{"capability_slack_bp", p.capability_slack_bp, kBasisPoints, 100 * kBasisPoints},
                                 Number{"rounds", p.rounds, 1, 64},
                                 Number{"redraws", p.redraws, 0, 16},
                                 Number{"reports", p.reports, 1, 64},
                                 Number{"capability_draws", p.capability_draws, 1, kCapabilityDrawsMax}})
        if (number.value < number.least || number.value > number.most)
            return error(std::string(kParameters) + number.name + " must be from " + std::to_string(number.least) +
                         " to " + std::to_string(number.most));
    struct Amount {
        const char* name;
        const U256& value;
    };
    for (const Amount& amount :
         {Amount{"bid_deposit", p.bid_deposit}, Amount{"min_verifier_stake", p.min_verifier_stake},
          Amount{"min_solver_stake", p.min_solver_stake}, Amount{"audit_bond", p.audit_bond},
          Amount{"challenge_bond", p.challenge_bond}, Amount{"report_fee", p.report_fee},
          Amount{"audit_fee", p.audit_fee}, Amount{"beacon_penalty", p.beacon_penalty},
          Amount{"capability_penalty", p.capability_penalty}})
        if (amount.value.limbs()[2] != 0 || amount.value.limbs()[3] != 0)
            return error(std::string(kParameters) + amount.name + " must be less than 2^128");
    if (p.audit_bond > p.min_verifier_stake)
        return error(std::string(kParameters) + "audit_bond must be at most min_verifier_stake");
    return Unit{};
}

}  // namespace retrace::market
