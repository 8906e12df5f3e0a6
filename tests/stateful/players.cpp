// SPDX-License-Identifier: MIT
#include "tests/stateful/players.hpp"

#include "solver/capability/draw.hpp"
#include "tests/stateful/send.hpp"

namespace retrace::stateful {
namespace {

using namespace contracts;

/// Rounds of a benchmark that is really run; each takes some milliseconds.
constexpr std::uint64_t kRoundsMax = 2;

template <std::size_t I = 0>
SendCall any_call(std::size_t index, Draws& draws) {
    if constexpr (I == std::variant_size_v<AnyCall>) {
        return {};
    } else {
        if (index != I) return any_call<I + 1>(index, draws);
        std::variant_alternative_t<I, AnyCall> call;
        Mutator(draws).fill(call);
        return {{}, call.kContract, U256(), calldata(call)};
    }
}

}  // namespace

Players::Players(World& world, const Profile& profile, Draws& draws)
    : world_(world), profile_(profile), draws_(draws), secrets_(profile.params, profile.cheats, profile.liars) {
    enlist();
}

market::Stake Players::stake(const Address& who) const {
    const auto known = mirror().stakes.find(who);
    return known == mirror().stakes.end() ? market::Stake{} : known->second;
}

bool Players::is_member(const Address& who) const {
    const auto known = mirror().verifiers.find(who);
    return known != mirror().verifiers.end() && known->second.member;
}

void Players::bond(const Address& who, const U256& wanted) {
    const U256 free = stake(who).available();
    if (free < wanted) send(who, Deposit{}, (wanted - free) * U256(draws_.between(1, 4)));
}

void Players::join_beacon(const Address& who) {
    const auto& p = profile_.params;
    bond(who, ledger::max(p.min_verifier_stake, U256(1)) + (p.beacon_penalty + p.audit_bond) * U256(3));
    send(who, RegisterVerifier{"http://v", secrets_.new_chain(who)});
}

void Players::enlist() {
    const auto& p = profile_.params;
    world_.pass(1);
    for (std::uint32_t i = 0; i < profile_.solvers; ++i) {
        bond(party(i), ledger::max(p.min_solver_stake, U256(1)) * U256(draws_.between(1, 5)));
        send(party(i), RegisterSolver{"http://s", static_cast<std::uint8_t>(draws_.below(3))});
    }
    for (std::uint32_t i = 0; i < profile_.verifiers; ++i) join_beacon(party(profile_.solvers + i));
    if (draws_.one_in(4) && profile_.verifiers > 0) join_beacon(solver());
}

void Players::reveal_beacons() {
    const std::uint64_t epoch = views::epoch_of(profile_.params, world_.height());
    std::vector<std::pair<Address, Hash32>> due;
    for (const auto& [who, info] : mirror().verifiers)
        if (info.member && info.joined_epoch < epoch && info.revealed_epoch != epoch) due.emplace_back(who, info.head);
    for (const auto& [who, head] : due) {
        if (!draws_.percent(std::min<std::uint64_t>(profile_.diligence + 8, 99))) continue;
        if (const auto preimage = secrets_.preimage(head)) send(who, RevealBeacon{*preimage});
    }
}

void Players::serve_staking() {
    const auto& p = profile_.params;
    if (profile_.verifiers != 0 && draws_.one_in(6)) {
        const Address who = verifier();
        const auto known = mirror().verifiers.find(who);
        // A dropped verifier joins again, and one at the end of its chain registers a new chain.
        if (!is_member(who) || !secrets_.preimage(known->second.head))
            join_beacon(who);
        else if (draws_.one_in(20))
            send(who, RetireVerifier{});
        else if (draws_.one_in(10))
            send(who, RegisterVerifier{"http://w", secrets_.new_chain(who)});
    }
    if (draws_.one_in(10)) {
        const Address who = anybody();
        const market::Stake has = stake(who);
        if (!has.unbonding.is_zero() && (world_.height() >= has.unbond_height || draws_.one_in(8)))
            send(who, Withdraw{});
        else if (!has.available().is_zero())
            send(who, BeginUnbond{draws_.one_in(3) ? has.available()
                                                   : has.available() / U256(draws_.between(2, 50)) + U256(1)});
        else
            bond(who, p.min_solver_stake + U256(1));
    }
    if (draws_.one_in(12)) {
        const Address who = solver();
        if (stake(who).bonded < p.min_solver_stake) bond(who, p.min_solver_stake + U256(1));
        send(who, RegisterSolver{"http://t", static_cast<std::uint8_t>(draws_.below(3))});
    }
}

void Players::serve_challenges() {
    std::vector<market::Challenge> open;
    for (const auto& [id, challenge] : mirror().challenges)
        if (challenge.state == market::ChallengeState::running || challenge.state == market::ChallengeState::proving)
            open.push_back(challenge);
    for (const market::Challenge& challenge : open) {
        if (!draws_.one_in(4)) continue;
        if (challenge.state == market::ChallengeState::running) {
            // The benchmark costs milliseconds, while a made-up claim costs nothing.
            if (benched_.empty() && draws_.one_in(3)) {
                const std::atomic<bool> never = false;
                const auto claim = bench_.run(challenge.id, challenge.seed, 1 + draws_.below(kRoundsMax), never);
                benched_.insert(challenge.id);
                send(challenge.solver, AnswerCapability{challenge.id, claim.rounds, claim.root});
            } else if (draws_.one_in(3)) {
                send(challenge.solver,
                     AnswerCapability{challenge.id, 1 + draws_.below(1'000), Secrets::salt(challenge.id, 1, 1)});
            }
            continue;
        }
        // A made-up claim that was accepted first may have a thousand rounds, whose proof would take minutes.
        if (!benched_.contains(challenge.id) || challenge.rounds > kRoundsMax) {
            if (draws_.one_in(8)) send(challenge.solver, ProveCapability{challenge.id, {0}});
            continue;
        }
        const auto drawn = solver::capability_draws(challenge.draw_beacon, challenge.id, challenge.rounds,
                                                    static_cast<std::uint32_t>(profile_.params.capability_draws));
        send(challenge.solver,
             ProveCapability{challenge.id, bench_.prove(challenge.id, challenge.seed, challenge.rounds, drawn)});
        benched_.erase(challenge.id);
        benched_.insert(0);  // At most once per game.
    }
}

void Players::noise() {
    SendCall call = any_call(draws_.below(std::variant_size_v<AnyCall>), draws_);
    call.sender = anybody();
    if (draws_.one_in(3)) call.value = profile_.params.report_fee;
    if (draws_.one_in(3)) call.value = profile_.params.challenge_bond;
    (void)world_.send(call);
}

void Players::block() {
    reveal_beacons();
    serve_challenges();
    serve_staking();
    serve_validators();
    serve_tasks();
    serve_audits();
    serve_disputes();
    serve_reports();
    serve_retention();
    if (draws_.percent(profile_.mutated_percent)) noise();
    // Passes more blocks where windows are long, but seldom a whole epoch.
    const std::uint64_t most = std::max<std::uint64_t>(1, profile_.params.epoch_blocks / 3);
    world_.pass(draws_.one_in(3) ? draws_.between(1, most) : 1);
}

void play(World& world, const Profile& profile, Draws& draws) {
    Players players(world, profile, draws);
    // Limits blocks too, because a game without open tasks or players makes few calls in a block.
    for (std::uint64_t blocks = 0; !players.over() && blocks < 2 * profile.calls + 200; ++blocks) players.block();
    world.check();
    (void)world.drain(longest_wait(profile.params));
}

}  // namespace retrace::stateful
