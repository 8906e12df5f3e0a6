// SPDX-License-Identifier: MIT
#include "market/econ_simulation.hpp"

#include <algorithm>
#include <array>

#include "market/auction.hpp"
#include "market/draw.hpp"
#include "market/escrow.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::market {
namespace {

using ledger::mul_div;

/// Strategy of a solver: the segments that it makes up, and its bid relative to its cost of honest work.
struct SolverStrategy {
    const char* name;
    std::uint64_t bad_bp;   ///< Share made up of the segments that it hopes are not audited.
    std::uint64_t bid_bp;   ///< Bid as a share of its honest cost.
    bool stops = false;     ///< Leaves in the middle of every second run.
    bool colludes = false;  ///< Tells colluding verifiers its roots.
    bool starves = false;   ///< Serves no data that would convict it.
    bool decoys = false;    ///< Posts tasks of one segment and runs them itself, for the reputation.
};
constexpr std::array<SolverStrategy, 8> kSolvers = {{{"honest", 0, 10'000},
                                                     {"cheats_seldom", 500, 9'600},
                                                     {"cheats_often", 3'000, 7'600},
                                                     {"cheats_always", 10'000, 2'000},
                                                     {"colludes", 1'000, 9'200, false, true},
                                                     {"stops", 0, 9'900, true},
                                                     {"starves", 1'000, 9'200, false, false, true},
                                                     {"decoys", 1'000, 9'200, false, false, false, true}}};
constexpr std::size_t kColludingSolvers = 4;
static_assert(kSolvers[kColludingSolvers].colludes);
struct VerifierStrategy {
    const char* name;
    bool replays = true;
    bool commits = true;   ///< If false, it is silent; if true without a replay, it hides its verdict.
    bool accuses = false;  ///< Challenges a right segment now and then.
    bool colludes = false;
};
/// Colluding verifiers come last.
constexpr std::array<VerifierStrategy, 5> kVerifiers = {{{"honest"},
                                                         {"lazy", false, false},
                                                         {"guesses", false, true},
                                                         {"accuses", true, true, true},
                                                         {"colludes", true, true, false, true}}};
constexpr std::uint64_t kSolversEach = 3, kHonestVerifiers = 8;
constexpr std::uint64_t kAccuseOneIn = 20, kDecoyOneIn = 4;

Address address_of(std::uint8_t role, std::uint64_t number) {
    Address address;
    address.bytes[0] = role;
    address.bytes[19] = static_cast<std::uint8_t>(number);
    return address;
}

struct Agent {
    Address address;
    std::size_t strategy = 0;
    U256 earned, spent;
    std::uint64_t jobs = 0, convictions = 0;
    Reputation reputation;
    std::uint64_t cost_bp = 0;  ///< Solvers only: cost of honest work as a share of the usual cost.
};

/// Uniform pseudo-random numbers from a hash, so that every machine draws the same.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : seed_(seed) {}
    Hash32 hash() {
        return merkle::Sha256()
            .update(view(std::string_view("retrace/economy/1")))
            .update_u64(seed_)
            .update_u64(count_++)
            .finish();
    }
    std::uint64_t below(std::uint64_t limit) { return load_u64(hash().data()) % limit; }
    bool happens(std::uint64_t bp) { return below(kBasisPoints) < bp; }

private:
    std::uint64_t seed_, count_ = 0;
};

class Market {
public:
    Market(const Setting& setting, const EconomyOptions& options) : setting_(setting), dice_(options.seed) {
        for (std::size_t i = 0; i < kSolvers.size() * kSolversEach; ++i) {
            Agent agent{address_of(1, i), i % kSolvers.size(), {}, {}, 0, 0, {}, 0};
            agent.cost_bp = 8'500 + 750 * (i / kSolvers.size()) * 2;  // the same costs in every strategy
            solvers_.push_back(agent);
        }
        for (std::size_t i = 0; i < kHonestVerifiers + kVerifiers.size() - 1; ++i)
            verifiers_.push_back(
                {address_of(2, i), i < kHonestVerifiers ? 0 : i - kHonestVerifiers + 1, {}, {}, 0, 0, {}, 0});
        for (std::uint64_t task = 1; task <= options.tasks; ++task) play(task);
    }

    Economy result() const {
        Economy out;
        for (std::size_t s = 0; s < kSolvers.size(); ++s)
            out.solvers.push_back(sum("solver", kSolvers[s].name, s, solvers_));
        for (std::size_t s = 0; s < kVerifiers.size(); ++s)
            out.verifiers.push_back(sum("verifier", kVerifiers[s].name, s, verifiers_));
        // Colluding agents share: the solvers and the verifier of the ring are compared with as many honest ones.
        const StrategyResult& insiders = out.solvers[kColludingSolvers];
        out.rings = {ring(out.solvers[0], out.verifiers[0]), ring(insiders, out.verifiers.back())};
        out.verifiers.pop_back();
        out.bad_segments = bad_;
        out.caught = caught_;
        out.burned = burned_;
        U256 in = requesters_, away = burned_ + computed_;
        for (const auto* side : {&solvers_, &verifiers_})
            for (const Agent& agent : *side) {
                in += agent.spent;
                away += agent.earned;
            }
        out.conserved = in == away;
        return out;
    }

private:
    static StrategyResult sum(const char* role, const char* name, std::size_t strategy,
                              const std::vector<Agent>& agents) {
        StrategyResult out{role, name, 0, 0, 0, {}, {}};
        for (const Agent& agent : agents) {
            if (agent.strategy != strategy) continue;
            ++out.agents;
            out.jobs += agent.jobs;
            out.convictions += agent.convictions;
            out.earned += agent.earned;
            out.spent += agent.spent;
        }
        return out;
    }

    /// Sums up all solvers of a strategy and one verifier.
    static StrategyResult ring(const StrategyResult& solvers, const StrategyResult& verifiers) {
        StrategyResult out = solvers;
        out.role = "ring";
        out.agents += 1;
        out.jobs += verifiers.jobs / verifiers.agents;
        out.convictions += verifiers.convictions / verifiers.agents;
        out.earned += verifiers.earned / U256(verifiers.agents);
        out.spent += verifiers.spent / U256(verifiers.agents);
        return out;
    }

    void compute(Agent& agent, const U256& cost) {
        agent.spent += cost;
        computed_ += cost;
    }
    void pay(Agent& agent, const U256& amount) {
        agent.earned += amount;
        requesters_ += amount;
    }
    void burn(Agent& agent, const U256& amount) {
        agent.spent += amount;
        burned_ += amount;
    }
    /// Slashes `amount`, of which a share goes to `winner`.
    void slash(Agent& agent, Agent& winner, const U256& amount, std::uint64_t share_bp) {
        const Split parts = split(amount, share_bp);
        agent.spent += amount;
        winner.earned += parts.share;
        burned_ += parts.burned;
    }

    void convict(Agent& solver, Agent& winner) {
        if (kSolvers[solver.strategy].starves) return burn(solver, lock_);  // There is no proof, so no share.
        const Conviction paid = conviction(lock_, audit_fee(setting_.params, spec_), setting_.params);
        solver.spent += lock_;
        winner.earned += paid.share + paid.costs;
        burned_ += lock_ - paid.share - paid.costs;
    }

    U256 cost_of(const Agent& solver) const { return mul_div(cost_, solver.cost_bp, kBasisPoints); }

    void play(std::uint64_t task) {
        spec_ = setting_.spec;
        // The price is between half of the highest price and all of it.
        spec_.price_ceiling = mul_div(setting_.spec.price_ceiling, 5'000 + dice_.below(5'001), kBasisPoints);
        cost_ = mul_div(spec_.price_ceiling, setting_.cost_bp, kBasisPoints);
        lock_ = mul_div(setting_.stake, spec_.price_ceiling, setting_.spec.price_ceiling);
        for (Agent& solver : solvers_)
            if (kSolvers[solver.strategy].decoys && dice_.below(kDecoyOneIn) == 0) play_decoy(task, solver);
        std::vector<Address> excluded;
        std::uint64_t first = 0;
        for (std::uint64_t round = 0; round < setting_.params.rounds && first < spec_.segments(); ++round) {
            const auto run = auction(excluded);
            if (!run) return;
            excluded.push_back(solvers_[run->offer].address);
            first = work(task, static_cast<std::uint32_t>(round), solvers_[run->offer], run->price, first);
        }
    }

    /// Plays a decoy. Payments of the owner to itself are left out. Its one segment is the first and the last, so it is
    /// audited: one auditor is paid for a replay, and the segment must be right.
    void play_decoy(std::uint64_t task, Agent& owner) {
        compute(owner, cost_of(owner));
        std::vector<Candidate> candidates;
        for (const Agent& verifier : verifiers_)
            candidates.push_back({verifier.address, setting_.params.min_verifier_stake});
        for (const Address& drawn : draw_auditors(dice_.hash(), task, 0, candidates, 1)) {
            Agent& auditor = *std::find_if(verifiers_.begin(), verifiers_.end(),
                                           [&](const Agent& agent) { return agent.address == drawn; });
            if (!kVerifiers[auditor.strategy].replays) continue;  // Replaced; the owner pays one fee all the same.
            const U256 fee = audit_fee(setting_.params, spec_);
            ++auditor.jobs;
            compute(auditor, cost_);
            owner.spent += fee;
            auditor.earned += fee;
        }
        ++owner.reputation.settled;
    }

    /// Returns the winner's index in `solvers_` and its price.
    std::optional<Winner> auction(const std::vector<Address>& excluded) {
        std::vector<Offer> offers;
        std::vector<std::size_t> who;
        for (std::size_t i = 0; i < solvers_.size(); ++i) {
            const Agent& solver = solvers_[i];
            if (std::find(excluded.begin(), excluded.end(), solver.address) != excluded.end()) continue;
            // Some solvers are busy when a task comes.
            if (dice_.happens(5'000)) continue;
            const U256 price = mul_div(cost_of(solver), kSolvers[solver.strategy].bid_bp, kBasisPoints);
            if (price > spec_.price_ceiling) continue;
            offers.push_back({solver.address, price, 0, bid_weight(solver.reputation, 0, 0)});
            who.push_back(i);
        }
        const std::vector<Winner> winners = clear_auction(offers, 1, spec_.price_ceiling);
        if (winners.empty()) return std::nullopt;
        return Winner{who[winners[0].offer], winners[0].price};
    }

    /// Plays a run from segment `first`. Returns the first segment that a successor must do.
    std::uint64_t work(std::uint64_t task, std::uint32_t run, Agent& solver, const U256& price, std::uint64_t first) {
        const SolverStrategy& strategy = kSolvers[solver.strategy];
        const std::uint64_t n = spec_.segments();
        const std::uint64_t leaves_at = strategy.stops && dice_.happens(5'000) ? first + dice_.below(n - first) : n;
        ++solver.jobs;
        for (std::uint64_t segment = first; segment < n; ++segment) {
            if (segment == leaves_at) {
                ++solver.reputation.silences;
                burn(solver, mul_div(lock_, setting_.params.silence_penalty_bp, kBasisPoints));
                return segment;
            }
            const bool always = segment == first || segment + 1 == n;
            const bool bad = !always && dice_.happens(strategy.bad_bp);
            if (bad)
                ++bad_;
            else
                compute(solver, cost_of(solver));
            const Hash32 beacon = dice_.hash();
            if ((always || is_drawn({{Address{}, beacon, 1}}, task, run, segment, spec_.audit_bp)) &&
                audit(beacon, segment, solver, bad)) {
                ++caught_;
                ++solver.convictions;
                ++solver.reputation.faults;
                return segment;
            }
            pay(solver, price);
        }
        ++solver.reputation.settled;
        return n;
    }

    /// Audits a segment. Returns whether it was proved bad.
    bool audit(const Hash32& beacon, std::uint64_t segment, Agent& solver, bool bad) {
        std::vector<Candidate> candidates;
        for (const Agent& verifier : verifiers_)
            candidates.push_back({verifier.address, setting_.params.min_verifier_stake});
        Agent* winner = nullptr;
        for (const Address& drawn : draw_auditors(beacon, segment, 0, candidates, spec_.auditors)) {
            Agent& auditor = *std::find_if(verifiers_.begin(), verifiers_.end(),
                                           [&](const Agent& agent) { return agent.address == drawn; });
            if (verdict(auditor, solver, bad) && winner == nullptr) winner = &auditor;
        }
        if (winner != nullptr) convict(solver, *winner);
        return winner != nullptr;
    }

    /// Whether this auditor accuses a bad segment.
    bool verdict(Agent& auditor, Agent& solver, bool bad) {
        const VerifierStrategy& strategy = kVerifiers[auditor.strategy];
        const Params& params = setting_.params;
        ++auditor.jobs;
        if (!strategy.commits) {
            burn(auditor, mul_div(params.audit_bond, params.silence_penalty_bp, kBasisPoints));
            return false;
        }
        if (!strategy.replays) {
            ++auditor.convictions;
            burn(auditor, params.audit_bond);
            return false;
        }
        const bool told = strategy.colludes && kSolvers[solver.strategy].colludes;
        if (!told) compute(auditor, cost_);
        if (strategy.accuses && !bad && dice_.below(kAccuseOneIn) == 0) {
            ++auditor.convictions;
            slash(auditor, solver, challenge_bond(params, spec_), params.solver_cost_bp);
        }
        if (bad && !told) return true;
        pay(auditor, audit_fee(params, spec_));
        return false;
    }

    const Setting& setting_;
    Dice dice_;
    TaskSpec spec_;
    U256 cost_, lock_;
    std::vector<Agent> solvers_, verifiers_;
    U256 requesters_, computed_, burned_;
    std::uint64_t bad_ = 0, caught_ = 0;
};

bool first_is_best(const std::vector<StrategyResult>& results) {
    return !results.empty() && !results[0].lost() &&
           std::all_of(results.begin() + 1, results.end(),
                       [&](const StrategyResult& other) { return results[0].better_than(other); });
}

}  // namespace

bool StrategyResult::better_than(const StrategyResult& other) const {
    // Compares (earned - spent) / agents without negative numbers; sums stay far below 2^192.
    const U256 mine = U256(other.agents), theirs = U256(agents);
    return earned * mine + other.spent * theirs > other.earned * theirs + spent * mine;
}

bool Economy::honest_best() const { return first_is_best(solvers) && first_is_best(verifiers) && first_is_best(rings); }

Economy simulate_economy(const Setting& setting, const EconomyOptions& options) {
    ensure(setting.spec.segments() > 0 && setting.cost_bp <= kBasisPoints, "a setting that can be");
    return Market(setting, options).result();
}

}  // namespace retrace::market
