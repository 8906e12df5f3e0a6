// SPDX-License-Identifier: MIT
// The parameters of the market, fixed in genesis. SPEC 1.
#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "ledger/types/u256.hpp"
#include "merkle/base/codec.hpp"

namespace retrace::market {

using ledger::U256;

inline constexpr std::uint64_t kBasisPoints = 10'000;
/// Unit of the amounts below: 10^15 of the smallest unit, a thousandth of a coin.
inline constexpr std::uint64_t kMilli = 1'000'000'000'000'000;

struct Params {
    Hash32 contract_hash;          ///< Kernel contract that every task must name.
    bool developer_chain = false;  ///< Agents may cheat, groups have masks or regions.

    // Durations in blocks.
    std::uint64_t epoch_blocks = 10;  ///< Length of a beacon epoch.
    std::uint64_t bid_blocks = 10;
    std::uint64_t reveal_blocks = 10;            ///< For revealing bids.
    std::uint64_t accept_blocks = 60;            ///< acceptData after the assignment.
    std::uint64_t checkpoint_blocks = 600;       ///< Between checkpoints; a task may ask for more.
    std::uint64_t open_blocks = 60;              ///< For openSegment and openRoots, once they are legal.
    std::uint64_t verdict_blocks = 60;           ///< commitVerdict, on top of the task's replay allowance.
    std::uint64_t reveal_segment_blocks = 60;    ///< Solver's reveal of the segment's end.
    std::uint64_t reveal_verdict_blocks = 60;    ///< Auditors' reveal.
    std::uint64_t challenge_blocks = 120;        ///< Window after a state was opened.
    std::uint64_t deliver_blocks = 600;          ///< acceptModel.
    std::uint64_t answer_blocks = 60;            ///< answerUnavailable, answerCapability.
    std::uint64_t unbond_blocks = 10'000;        ///< For unbonding stake; no bound of a dispute (contracts 18.5).
    std::uint64_t move_blocks = 20;              ///< Chess clock: blocks a move,
    std::uint64_t moves = 30;                    ///< times moves, in addition to the machine's work (contracts 15.3).
    std::uint64_t capability_blocks = 20;        ///< Window of a benchmark run.
    std::uint64_t capability_rest_blocks = 500;  ///< Between challenges of one solver.
    std::uint64_t unaudited_blocks = 600;        ///< Wait before a requester may decide on audits without auditors.

    // Amounts.
    U256 bid_deposit = 10 * kMilli;
    U256 min_verifier_stake = 1'000 * kMilli;
    U256 min_solver_stake = 1'000 * kMilli;
    U256 audit_bond = 100 * kMilli;  ///< Locked from an auditor's stake for each audit.
    U256 challenge_bond = 100 * kMilli;
    U256 report_fee = 1 * kMilli;
    U256 audit_fee = 5 * kMilli;            ///< To each auditor for each audit, at least (market/escrow.hpp).
    U256 beacon_penalty = 100 * kMilli;     ///< For not revealing.
    U256 capability_penalty = 10 * kMilli;  ///< For a claimed benchmark run that is not proved.

    // Shares in basis points.
    std::uint64_t audit_fee_bp = 10'000;         ///< Share of a segment's price ceiling paid to each of its auditors.
    std::uint64_t challenger_share_bp = 2'000;   ///< Share of a convicted solver's loss.
    std::uint64_t silence_penalty_bp = 1'000;    ///< Share of a silent party's lock.
    std::uint64_t solver_cost_bp = 5'000;        ///< Share of a false accuser's bond that the solver gets.
    std::uint64_t safety_bp = 20'000;            ///< Stake floor's safety factor, 2.
    std::uint64_t collusion_bp = 0;              ///< Assumed share f of the verifiers' stake that colludes.
    std::uint64_t capability_bp = 100;           ///< Share of registered solvers that each beacon challenges.
    std::uint64_t capability_slack_bp = 40'000;  ///< Factor by which a task may run faster than the benchmark.

    // Counts.
    std::uint64_t redraws = 3;           ///< Redraws of silent auditors, and audit rounds without a match.
    std::uint64_t rounds = 16;           ///< Auctions of one task.
    std::uint64_t reports = 8;           ///< Open reports of one party.
    std::uint64_t capability_draws = 6;  ///< Elements of a benchmark run that are shown.

    bool operator==(const Params&) const = default;

    static auto tie(auto& p) {
        return std::tie(p.contract_hash, p.developer_chain, p.epoch_blocks, p.bid_blocks, p.reveal_blocks,
                        p.accept_blocks, p.checkpoint_blocks, p.open_blocks, p.verdict_blocks, p.reveal_segment_blocks,
                        p.reveal_verdict_blocks, p.challenge_blocks, p.deliver_blocks, p.answer_blocks, p.unbond_blocks,
                        p.move_blocks, p.moves, p.bid_deposit, p.min_verifier_stake, p.min_solver_stake, p.audit_bond,
                        p.challenge_bond, p.report_fee, p.audit_fee, p.beacon_penalty, p.audit_fee_bp,
                        p.challenger_share_bp, p.silence_penalty_bp, p.solver_cost_bp, p.safety_bp, p.collusion_bp,
                        p.redraws, p.rounds, p.reports, p.capability_blocks, p.capability_rest_blocks,
                        p.capability_penalty, p.capability_bp, p.capability_slack_bp, p.capability_draws,
                        p.unaudited_blocks);
    }
    static std::vector<std::string_view> names() {
        return {"contractHash",
                "developerChain",
                "epochBlocks",
                "bidBlocks",
                "revealBlocks",
                "acceptBlocks",
                "checkpointBlocks",
                "openBlocks",
                "verdictBlocks",
                "revealSegmentBlocks",
                "revealVerdictBlocks",
                "challengeBlocks",
                "deliverBlocks",
                "answerBlocks",
                "unbondBlocks",
                "moveBlocks",
                "moves",
                "bidDeposit",
                "minVerifierStake",
                "minSolverStake",
                "auditBond",
                "challengeBond",
                "reportFee",
                "auditFee",
                "beaconPenalty",
                "auditFeeBp",
                "challengerShareBp",
                "silencePenaltyBp",
                "solverCostBp",
                "safetyBp",
                "collusionBp",
                "redraws",
                "rounds",
                "reports",
                "capabilityBlocks",
                "capabilityRestBlocks",
                "capabilityPenalty",
                "capabilityBp",
                "capabilitySlackBp",
                "capabilityDraws",
                "unauditedBlocks"};
    }
};

Bytes encode(const Params& params);
/// Decodes the genesis section "contracts". Fails with a codec error or with the message of `check`.
Result<Params> decode_params(View bytes);
/// Checks the ranges on which the rules rely: no zero duration, shares within 100 %, amounts below 2^128.
Status<> check(const Params& params);

}  // namespace retrace::market
