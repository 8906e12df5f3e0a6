// SPDX-License-Identifier: MIT
#include "tests/stateful/profile.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::stateful {
namespace {

using ledger::U256;
using market::kMilli;
using market::Params;

Hash32 contract() {
    Hash32 out;
    out.bytes[0] = 7;
    return out;
}

void shorten(Params& p, Draws& draws) {
    p.epoch_blocks = draws.between(2, 5);
    for (std::uint64_t* blocks : {&p.bid_blocks, &p.reveal_blocks, &p.accept_blocks, &p.answer_blocks})
        *blocks = draws.between(2, 6);
    for (std::uint64_t* blocks : {&p.open_blocks, &p.verdict_blocks, &p.reveal_segment_blocks, &p.reveal_verdict_blocks,
                                  &p.challenge_blocks, &p.capability_blocks})
        *blocks = draws.between(3, 12);
    p.checkpoint_blocks = draws.between(16, 60);
    // A slow winner can outlast another auction.
    if (draws.one_in(2)) p.accept_blocks = draws.between(8, 40);
    p.deliver_blocks = draws.between(5, 30);
    p.unbond_blocks = draws.between(120, 500);
    p.unaudited_blocks = draws.between(5, 60);
    p.move_blocks = draws.between(1, 3);
    p.moves = draws.between(3, 12);
    p.capability_rest_blocks = draws.between(20, 80);
    p.capability_bp = draws.one_in(2) ? 100 : draws.below(9'999);
}

/// Returns an edge of the range or one of a few values in between.
std::uint64_t duration(Draws& draws) {
    constexpr std::uint64_t kEdges[] = {1, 1, 2, 3, 5, 8, 20, 60, 250, 1'000};
    return kEdges[draws.below(std::size(kEdges))];
}

U256 amount(Draws& draws) {
    switch (draws.below(6)) {
        case 0: return U256();
        case 1: return U256(1);
        case 2: return U256(kMilli);
        case 3: return U256(kMilli) * U256(1'000'000);
        case 4: return U256(draws.next());
        default: return U256(~std::uint64_t{0}) * U256(~std::uint64_t{0});  // below 2^128
    }
}

std::uint64_t share(Draws& draws) {
    constexpr std::uint64_t kEdges[] = {0, 1, 100, 2'000, 5'000, 9'999};
    return kEdges[draws.below(std::size(kEdges))];
}

void stretch(Params& p, Draws& draws) {
    shorten(p, draws);
    for (std::uint64_t* blocks :
         {&p.epoch_blocks, &p.bid_blocks, &p.reveal_blocks, &p.accept_blocks, &p.checkpoint_blocks, &p.open_blocks,
          &p.verdict_blocks, &p.reveal_segment_blocks, &p.reveal_verdict_blocks, &p.challenge_blocks, &p.deliver_blocks,
          &p.answer_blocks, &p.move_blocks, &p.moves, &p.capability_blocks, &p.capability_rest_blocks,
          &p.unaudited_blocks})
        if (draws.one_in(3)) *blocks = duration(draws);
    // Otherwise no task is accepted (contracts 12.1.15).
    p.unbond_blocks = 2 * p.moves * p.move_blocks + 80 + draws.below(300);
    for (U256* coins : {&p.bid_deposit, &p.min_verifier_stake, &p.min_solver_stake, &p.audit_bond, &p.challenge_bond,
                        &p.report_fee, &p.audit_fee, &p.beacon_penalty, &p.capability_penalty})
        if (draws.one_in(3)) *coins = amount(draws);
    p.audit_bond = ledger::min(p.audit_bond, p.min_verifier_stake);
    for (std::uint64_t* bp : {&p.challenger_share_bp, &p.silence_penalty_bp, &p.solver_cost_bp, &p.capability_bp})
        if (draws.one_in(3)) *bp = share(draws);
    if (draws.one_in(4)) p.collusion_bp = draws.below(6'000);
    if (draws.one_in(3)) p.audit_fee_bp = draws.below(10'001);
    if (draws.one_in(3)) p.safety_bp = draws.one_in(2) ? 10'000 : 1'000'000;
    if (draws.one_in(3)) p.capability_slack_bp = draws.one_in(2) ? 10'000 : 1'000'000;
    if (draws.one_in(2)) p.rounds = draws.one_in(2) ? draws.between(1, 4) : 64;
    if (draws.one_in(2)) p.redraws = draws.below(17);
    if (draws.one_in(2)) p.reports = draws.one_in(2) ? 1 : 64;
    p.capability_draws = draws.between(1, 8);
}

}  // namespace

Profile profile_of(Draws& draws) {
    Profile out;
    const std::uint64_t kind = draws.below(100);
    out.kind = kind < 40   ? Kind::small
               : kind < 55 ? Kind::defaults
               : kind < 96 ? Kind::extreme
               : kind < 98 ? Kind::crowd
                           : Kind::lengthy;
    out.accounts = static_cast<std::uint32_t>(draws.between(12, 40));
    out.solvers = static_cast<std::uint32_t>(draws.between(2, out.accounts / 2));
    out.verifiers = static_cast<std::uint32_t>(draws.between(draws.one_in(12) ? 0 : 2, out.accounts / 2));
    out.tasks = draws.between(1, 12);
    out.segments = draws.one_in(3) ? draws.between(8, 16) : draws.between(1, 8);
    out.diligence = draws.one_in(3) ? draws.between(30, 90) : draws.between(90, 100);
    out.cheats = draws.one_in(3) ? 0 : draws.between(5, 50);
    out.liars = draws.one_in(3) ? 0 : draws.between(2, 30);
    out.challenges = draws.one_in(3) ? 0 : draws.between(1, 10);
    out.mutated_percent = draws.between(0, 20);
    out.attests = draws.one_in(2) ? 80 : draws.between(0, 100);
    out.raises = draws.one_in(2) ? 15 : draws.between(1, 8);
    out.stops = draws.one_in(2) ? 6 : draws.between(0, 60);
    out.accepts = draws.one_in(2) ? 90 : draws.between(10, 60);
    switch (out.kind) {
        case Kind::small: shorten(out.params, draws); break;
        case Kind::defaults: break;
        case Kind::extreme: stretch(out.params, draws); break;
        case Kind::crowd:
            shorten(out.params, draws);
            out.params.bid_blocks = 12;
            out.params.reveal_blocks = 12;
            out.params.accept_blocks = 60;
            out.params.checkpoint_blocks = 60;
            out.params.open_blocks = 60;
            out.params.audit_bond = U256(1);
            out.solvers = 5;
            out.tasks = out.tasks_in_all = 1'030;
            out.segments = 1;
            out.diligence = 100;
            out.cheats = 60;
            out.mutated_percent = 0;
            out.calls = 30'000;
            break;
        case Kind::lengthy:
            shorten(out.params, draws);
            out.params.checkpoint_blocks = 500;
            out.params.challenge_blocks = 300;
            out.tasks = 1;
            out.tasks_in_all = 2;
            out.segments = 1'500;
            out.diligence = 100;
            out.calls = 12'000;
            break;
    }
    out.params.contract_hash = contract();
    out.params.developer_chain = true;  // Groups have masks there (contracts 21.11.35).
    const auto fits = market::check(out.params);
    ensure(fits.has_value(), "a profile's parameters are in range");
    return out;
}

std::uint64_t longest_wait(const market::Params& p) {
    // Audits may be redrawn many times; all other windows follow one another.
    const std::uint64_t audit = 4 * p.epoch_blocks + p.open_blocks + p.verdict_blocks + p.reveal_segment_blocks +
                                p.reveal_verdict_blocks + p.answer_blocks + 100;
    return 64 * (p.redraws + 2) * audit + 64 * (p.bid_blocks + p.reveal_blocks + p.accept_blocks) +
           8 * p.checkpoint_blocks + p.deliver_blocks + p.challenge_blocks + 8 * p.moves * p.move_blocks +
           p.capability_rest_blocks + 3 * p.unaudited_blocks + p.unbond_blocks + p.capability_blocks + 20'000;
}

}  // namespace retrace::stateful
