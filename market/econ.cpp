// SPDX-License-Identifier: MIT
#include "market/econ.hpp"

#include "market/escrow.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::market {
namespace {

using ledger::mul_div;

constexpr std::uint64_t kCertain = 1'000'000'000'000'000'000;
/// Gains are compared in parts of the smallest unit, because a stake at its floor may lose by less than one unit.
constexpr std::uint64_t kParts = 1ull << 32;

U256 share_of(const U256& amount, std::uint64_t bp) { return mul_div(amount, bp, kBasisPoints); }
/// Returns amount · ratio, rounded up.
U256 times_up(const U256& amount, const Ratio& ratio) {
    const U256 floor = mul_div(amount, ratio.numerator, ratio.denominator);
    const bool exact = mul_div(floor, ratio.denominator, ratio.numerator.is_zero() ? 1 : ratio.numerator) == amount;
    return ratio.numerator.is_zero() || exact ? floor : floor + U256(1);
}
U256 times(const U256& amount, const Ratio& ratio) { return mul_div(amount, ratio.numerator, ratio.denominator); }
Ratio other(const Ratio& p) { return {p.denominator - p.numerator, p.denominator}; }

/// Probability of being caught when the reveals of all members count.
Ratio chance(const Setting& s, std::uint64_t audit_bp) {
    const Ratio seats = honest_seat_probability(s.params.collusion_bp, s.spec.auditors);
    return {U256(audit_bp) * seats.numerator, U256(kBasisPoints) * seats.denominator};
}
/// Loss of a convicted solver whose own verifier takes the challenger's share and costs.
U256 net_loss(const Setting& s) {
    const Conviction paid = conviction(s.stake, audit_fee(s.params, s.spec), s.params);
    return s.stake - paid.share - paid.costs;
}
U256 replay_cost(const Setting& s) { return share_of(s.spec.price_ceiling, s.cost_bp); }

/// A fraud that wins `price` if it is not found, and costs `loss` if it is.
Prospect bet(Fraud fraud, const U256& price, const U256& loss, const Ratio& found) {
    const U256 win = times_up(price * U256(kParts), other(found)), lose = times(loss * U256(kParts), found);
    return {fraud, (win + U256(kParts - 1)) / U256(kParts), lose / U256(kParts), win > lose};
}
/// A fraud with a certain outcome.
Prospect sure(Fraud fraud, const U256& win, const U256& lose) { return {fraud, win, lose, win > lose}; }

/// SPEC 8.2.1: one bad segment, drawn with probability p.
Prospect skip(Fraud fraud, const Setting& s, const Ratio& p) {
    return bet(fraud, s.spec.price_ceiling, net_loss(s), p);
}

/// SPEC 8.2.10: it is caught when no drawn auditor colludes; then the whole stake is burned.
Prospect starve(const Setting& s) {
    return bet(Fraud::starve_auditors, s.spec.price_ceiling, s.stake,
               unserved_audit_probability(s.spec.audit_bp, s.params, s.spec.auditors));
}

/// SPEC 8.2.2: k bad segments are worth (1 - (1-p)^k) / p times as much as one.
Prospect skip_many(const Setting& s, const Ratio& p, std::uint64_t count) {
    Prospect one = skip(Fraud::skip_all, s, p);
    if (count == 0 || p.numerator.is_zero()) return sure(Fraud::skip_all, one.win * U256(count), {});
    U256 missed = kCertain, base = times(kCertain, other(p));
    for (std::uint64_t rest = count; rest != 0; rest >>= 1) {
        if (rest & 1) missed = mul_div(missed, base, kCertain);
        base = mul_div(base, base, kCertain);
    }
    const U256 caught = U256(kCertain) - missed;
    const auto scaled = [&](const U256& amount) {
        return mul_div(mul_div(amount, caught, kCertain), p.denominator, p.numerator);
    };
    one.win = scaled(one.win);
    one.lose = scaled(one.lose);
    return one;
}

/// SPEC 8.2.11: each task is a separate bet, since no limit and no clock of one run depends on another.
Prospect skip_in_tasks(const Setting& s, const Ratio& p) {
    Prospect one = skip(Fraud::several_tasks, s, p);
    one.win = one.win * U256(kOpenItemsMax);
    one.lose = one.lose * U256(kOpenItemsMax);
    return one;
}

/// SPEC 8.2.12: the dispute blocks no other run, and only the solver's part of its bond comes back.
Prospect dispute_decoy(const Setting& s, const Ratio& p) {
    Prospect out = skip(Fraud::dispute_decoy, s, p);
    const U256 bond = challenge_bond(s.params, s.spec);
    out.lose += bond - share_of(bond, s.params.solver_cost_bp);
    out.gains = out.win > out.lose;
    return out;
}

/// SPEC 8.2.13: in the worst case the dispute takes two executions of the segment and three of a step.
Prospect harass(const Setting& s) {
    const U256 steps(std::max<std::uint64_t>(1, s.spec.interval));
    return sure(Fraud::harass_solver, replay_cost(s) * U256(2) + replay_cost(s) * U256(3) / steps,
                share_of(challenge_bond(s.params, s.spec), s.params.solver_cost_bp));
}

/// SPEC 8.2.8: only reveals of honest members draw. Penalties for the withheld reveals are left out; they would add to
/// the loss.
Prospect grind(const Setting& s) {
    return skip(Fraud::grind_beacon, s,
                effective_audit_probability(s.spec.audit_bp, s.params.collusion_bp, s.spec.auditors));
}

/// SPEC 8.2.9: each drawn auditor could take the challenger's share instead.
Prospect bribe(const Setting& s) {
    const Ratio p = chance(s, s.spec.audit_bp);
    const U256 each = share_of(s.stake, s.params.challenger_share_bp);
    const U256 cost = ledger::min(each * U256(s.spec.auditors), net_loss(s) + s.spec.price_ceiling);
    Prospect out = sure(Fraud::bribe_auditors, s.spec.price_ceiling, times(cost, p));
    out.asserted = false;
    return out;
}

}  // namespace

std::vector<Prospect> prospects(const Setting& s) {
    ensure(s.cost_bp <= kBasisPoints && s.verifiers > 0, "a setting that can be");
    const Ratio p = chance(s, s.spec.audit_bp), always = chance(s, kBasisPoints);
    const std::uint64_t n = s.spec.segments();
    const U256 cost = replay_cost(s), fee = audit_fee(s.params, s.spec);
    const U256 silence = share_of(s.params.audit_bond, s.params.silence_penalty_bp);
    return {
        skip(Fraud::skip_segment, s, p),
        skip_many(s, p, n > 2 ? n - 2 : 0),
        skip(Fraud::forge_first, s, always),
        sure(Fraud::accuse_self, s.stake - net_loss(s), s.stake),
        sure(Fraud::withhold_data, {}, s.stake),
        sure(Fraud::stop, {}, share_of(s.stake, s.params.silence_penalty_bp)),
        sure(Fraud::skip_audit, cost, fee + silence),
        sure(Fraud::idle_verdict, cost, fee + s.params.audit_bond),
        sure(Fraud::false_accusation, {}, challenge_bond(s.params, s.spec)),
        grind(s),
        bribe(s),
        starve(s),
        skip_in_tasks(s, p),
        dispute_decoy(s, p),
        harass(s),
    };
}

std::vector<Prospect> faults(const Setting& setting) {
    std::vector<Prospect> found = prospects(setting);
    std::erase_if(found, [](const Prospect& p) { return !p.asserted || !p.pays(); });
    return found;
}

std::optional<Limits> limits(const Setting& s) {
    Params bare = s.params;
    bare.safety_bp = kBasisPoints;
    const auto least = stake_floor(bare, s.spec.audit_bp, s.spec.auditors, s.spec.price_ceiling);
    if (!least) return std::nullopt;
    Limits out;
    out.least_stake = *least;
    const auto most = [&](bool starving) {
        const auto bears = [&](std::uint64_t share) {
            Setting colluding = s;
            colluding.params.collusion_bp = share;
            return !grind(colluding).pays() && !(starving && starve(colluding).pays());
        };
        std::uint64_t found = 0;
        for (std::uint64_t step = 8'192; step != 0; step >>= 1)
            if (found + step < kBasisPoints && bears(found + step)) found += step;
        return found;
    };
    out.collusion_bp = most(true);
    out.served_collusion_bp = most(false);
    out.price_for_auditors =
        s.cost_bp <= s.params.audit_fee_bp ? U256::max() : mul_div(s.params.audit_fee, kBasisPoints, s.cost_bp);
    return out;
}

AuditBooks audit_books(const Setting& s) {
    AuditBooks out;
    const std::uint64_t n = s.spec.segments();
    if (n == 0) return out;
    const std::uint64_t always = std::min<std::uint64_t>(n, 2);
    const U256 audits_bp = U256(always * kBasisPoints) + U256(n - always) * U256(s.spec.audit_bp);
    const U256 seats = s.spec.auditors;
    out.audits_milli = (audits_bp / U256(10)).low64();
    out.replays_bp = (audits_bp * seats / U256(n)).low64();
    out.fees = mul_div(audits_bp * seats, audit_fee(s.params, s.spec), kBasisPoints);
    out.income = out.fees / U256(s.verifiers);
    out.expense = mul_div(audits_bp * seats, replay_cost(s), kBasisPoints) / U256(s.verifiers);
    return out;
}

std::string_view slug(Fraud fraud) noexcept {
    switch (fraud) {
        case Fraud::skip_segment: return "skip_segment";
        case Fraud::skip_all: return "skip_all";
        case Fraud::forge_first: return "forge_first";
        case Fraud::accuse_self: return "accuse_self";
        case Fraud::withhold_data: return "withhold_data";
        case Fraud::stop: return "stop";
        case Fraud::skip_audit: return "skip_audit";
        case Fraud::idle_verdict: return "idle_verdict";
        case Fraud::false_accusation: return "false_accusation";
        case Fraud::grind_beacon: return "grind_beacon";
        case Fraud::bribe_auditors: return "bribe_auditors";
        case Fraud::starve_auditors: return "starve_auditors";
        case Fraud::several_tasks: return "several_tasks";
        case Fraud::dispute_decoy: return "dispute_decoy";
        case Fraud::harass_solver: return "harass_solver";
    }
    return "invalid";
}

std::string_view sentence(Fraud fraud) noexcept {
    switch (fraud) {
        case Fraud::skip_segment: return "a solver makes up one segment";
        case Fraud::skip_all: return "a solver makes up every segment but the first and the last";
        case Fraud::forge_first: return "a solver makes up a segment that is always audited";
        case Fraud::accuse_self: return "a solver convicts itself for the challenger's share";
        case Fraud::withhold_data: return "a solver does not serve an audited segment";
        case Fraud::stop: return "a solver leaves in the middle";
        case Fraud::skip_audit: return "a drawn auditor does nothing";
        case Fraud::idle_verdict: return "an auditor commits to a guess";
        case Fraud::false_accusation: return "a right segment is challenged";
        case Fraud::grind_beacon: return "a solver's own beacon members withhold what would draw it";
        case Fraud::bribe_auditors: return "a solver outbids the reward of every drawn auditor";
        case Fraud::starve_auditors: return "a solver makes up a segment and serves it to colluding auditors only";
        case Fraud::several_tasks: return "a solver makes up one segment in each of as many tasks as it may run";
        case Fraud::dispute_decoy:
            return "a solver makes up a segment while an accomplice disputes a decoy task of both";
        case Fraud::harass_solver: return "an honest solver is made to compute right segments again";
    }
    return "";
}

}  // namespace retrace::market
