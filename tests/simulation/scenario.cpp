// SPDX-License-Identifier: MIT
#include "tests/simulation/scenario.hpp"

#include <algorithm>

#include "kernels/commit/contract.hpp"

namespace retrace::sim {
namespace {

constexpr std::uint64_t kStakeCoins = 50;
/// From just allowed to so fast that computation never delays anything.
constexpr std::uint64_t kSpeeds[] = {kJustAllowed, kJustAllowed, 15'000, 30'000, kFast, 4 * kFast};
// Outages of one party are shorter than the bound, and far enough apart for it to catch up in between.
constexpr Millis kOutageMax = 5 * kBlockMillis, kCalmMin = 45 * kBlockMillis, kCalmMax = 160 * kBlockMillis;
constexpr Millis kOutagesUntil = 900 * kBlockMillis;

SolverRole honest_solver() {
    SolverRole role;
    role.stake = coins(kStakeCoins);
    return role;
}
VerifierRole honest_verifier() {
    VerifierRole role;
    role.stake = coins(kStakeCoins);
    return role;
}

PlannedTask random_task(Random& random, std::uint64_t at_height, std::size_t solvers) {
    PlannedTask planned;
    planned.kind = random.below(3);
    planned.interval = random.between(1, 3);
    planned.steps = planned.interval * random.between(2, 5) + random.below(planned.interval);
    planned.seed = random.below(1000);
    constexpr std::uint16_t kAuditShares[] = {500, 2500, 10000};
    planned.audit_bp = random.pick(kAuditShares);
    planned.auditors = static_cast<std::uint8_t>(random.between(1, 3));
    planned.replicas = random.chance(150) ? static_cast<std::uint8_t>(std::min<std::size_t>(solvers, 3)) : 1;
    if (random.chance(150)) planned.raise_to = static_cast<std::uint8_t>(planned.replicas + 1);
    planned.at_height = at_height;
    if (random.chance(200)) {
        constexpr RequesterFraud kAttacks[] = {RequesterFraud::withdraw, RequesterFraud::impossible,
                                               RequesterFraud::no_upload, RequesterFraud::disappear};
        planned.fraud = random.pick(kAttacks);
    }
    return planned;
}

/// Many solvers, and tasks of three to five replicas, some of which are raised while they run.
void make_crowd(Scenario& scenario, Random& random) {
    for (const std::uint64_t wanted = random.between(4, 6); scenario.solvers.size() < wanted;) {
        SolverRole role = honest_solver();
        if (random.chance(500)) role = *solver_named(random.pick(solver_names()));
        role.floods_in_bursts = true;
        role.pays_for_retention = random.chance(300);
        role.price_bp = random.between(5500, 9500);
        scenario.solvers.push_back(role);
    }
    const std::size_t most = std::min<std::size_t>(scenario.solvers.size(), market::kReplicasMax);
    for (PlannedTask& planned : scenario.planned_tasks) {
        planned.replicas = static_cast<std::uint8_t>(random.between(3, most));
        planned.raise_to = static_cast<std::uint8_t>(random.chance(300) && planned.replicas < most ? most : 0);
    }
}

}  // namespace

ledger::U256 coins(std::uint64_t count) { return ledger::U256(count) * ledger::U256(1000 * market::kMilli); }

market::Params simulated_params() {
    market::Params p;
    p.contract_hash = kernels::contract_hash();
    p.developer_chain = true;
    p.epoch_blocks = 16;
    p.bid_blocks = 12;
    p.reveal_blocks = 20;
    p.accept_blocks = 24;
    p.checkpoint_blocks = 40;
    p.open_blocks = 24;
    p.verdict_blocks = 24;
    p.reveal_segment_blocks = 24;
    p.reveal_verdict_blocks = 24;
    p.challenge_blocks = 24;
    p.deliver_blocks = 40;
    p.answer_blocks = 24;
    p.unbond_blocks = 2'000;
    p.move_blocks = 8;
    p.capability_blocks = 48;
    p.capability_rest_blocks = 150;
    p.capability_bp = 1'500;
    p.capability_draws = 2;
    p.moves = 30;
    p.unaudited_blocks = 60;
    return p;
}

const std::vector<std::string>& solver_names() {
    static const std::vector<std::string> kNames = {"ulp",
                                                    "skip_steps",
                                                    "wrong_data",
                                                    "data_order",
                                                    "stale_checkpoint",
                                                    "hyper_parameter",
                                                    "silent",
                                                    "commit_early",
                                                    "withhold",
                                                    "wrong_tiles",
                                                    "flood",
                                                    "hide",
                                                    "answer_late",
                                                    "lie_steps",
                                                    "lie_state",
                                                    "lie_trace",
                                                    "lie_tiles",
                                                    "lie_links",
                                                    "lie_tile",
                                                    "lie_header",
                                                    "stop_in_dispute"};
    return kNames;
}

const std::vector<std::string>& verifier_names() {
    static const std::vector<std::string> kNames = {"false_accuser", "copier",         "never_reveals", "guesser",
                                                    "no_show",       "false_reporter", "colluder",      "griefer"};
    return kNames;
}

std::optional<SolverRole> solver_named(std::string_view name) {
    SolverRole role = honest_solver();
    if (name == "honest") return role;
    role.price_bp = 7000;  // The cheapest among honest bids, which wins.
    role.fraud = solver::parse_compute_attack(name);
    role.protocol_attack = solver::parse_protocol_attack(name);
    role.dispute_attack = verifier::parse_dispute_attack(name);
    role.blind = name == "blind";
    if (role.dispute_attack) role.fraud = solver::ComputeAttack::ulp;  // The disputed state is wrong.
    if (role.honest()) return std::nullopt;
    return role;
}

std::optional<VerifierRole> verifier_named(std::string_view name) {
    VerifierRole role = honest_verifier();
    if (name == "honest") return role;
    role.fraud = verifier::parse_verifier_attack(name);
    role.colludes = name == "colluder";
    if (role.honest()) return std::nullopt;
    return role;
}

std::optional<RequesterFraud> requester_named(std::string_view name) {
    for (const auto fraud : {RequesterFraud::none, RequesterFraud::withdraw, RequesterFraud::impossible,
                             RequesterFraud::no_upload, RequesterFraud::disappear, RequesterFraud::burst})
        if (slug(fraud) == name) return fraud;
    return std::nullopt;
}

std::vector<Outage> random_outages(Random& random, std::size_t parties) {
    std::vector<Outage> out;
    for (std::size_t party = 0; party < parties; ++party) {
        if (random.chance(300)) continue;  // Some parties have no outages.
        for (Millis at = random.between(20 * kBlockMillis, kCalmMax); at < kOutagesUntil;
             at += random.between(kCalmMin, kCalmMax)) {
            const Millis until = at + random.between(200, kOutageMax);
            // Requesters have no stake and are not restarted.
            out.push_back({party, party != 0 && random.chance(500), at, until});
            at = until;
        }
    }
    return out;
}

std::vector<ValidatorRole> random_validators(Random& random) {
    std::vector<ValidatorRole> out(random.between(4, 7));
    std::uint64_t all = 0;
    for (ValidatorRole& role : out) all += role.weight = random.between(1, 4);
    constexpr ProposerFraud kFrauds[] = {ProposerFraud::censor, ProposerFraud::delay, ProposerFraud::reorder,
                                         ProposerFraud::front_run};
    std::uint64_t bad = 0;
    for (ValidatorRole& role : out) {
        if (3 * (bad + role.weight) >= all || random.chance(200)) continue;
        bad += role.weight;
        const bool proposes = random.chance(800);
        if (proposes) role.fraud = random.pick(kFrauds);
        if (!proposes || random.chance(200)) {
            role.silent_from = random.between(60, 300);
            role.silent_until = role.silent_from + random.between(10, 120);
        }
        if (random.chance(200)) role.signs_twice_at = random.between(50, 300);
    }
    return out;
}

Scenario calm_scenario() {
    Scenario out;
    out.network.loss_permille = 0;
    out.solvers.assign(2, honest_solver());
    out.verifiers.assign(3, honest_verifier());
    out.planned_tasks.assign(1, PlannedTask{});
    return out;
}

Scenario just_allowed_scenario() {
    Scenario out = calm_scenario();
    out.params = market::Params{};
    out.params.contract_hash = kernels::contract_hash();
    out.params.developer_chain = true;
    // 300 blocks, including the hashing of the states at which a replay starts and ends.
    out.costs = {290'000, 100, 100};
    out.planned_tasks[0].steps = 120;
    out.planned_tasks[0].interval = 30;
    out.planned_tasks[0].replay_blocks = 300;
    out.planned_tasks[0].finish_blocks = 20'000;
    for (SolverRole& role : out.solvers) role.speed_bp = kJustAllowed;
    for (VerifierRole& role : out.verifiers) role.speed_bp = kJustAllowed;
    out.blocks_max = 30'000;
    return out;
}

Scenario random_scenario(std::uint64_t seed) {
    Random random(seed ^ 0x5ce7a210u);
    Random bench(seed ^ 0x0ca9ab11u);  // A separate stream, so that older seeds keep their meaning.
    Random speeds(seed ^ 0x59eed5u);   // Likewise.
    Scenario out;
    out.solvers.push_back(honest_solver());
    for (std::uint64_t more = random.between(1, 3); more > 0; --more) {
        SolverRole role = honest_solver();
        if (random.chance(700)) role = *solver_named(random.pick(solver_names()));
        if (random.chance(500)) role.segment = random.below(5);
        role.floods_in_bursts = true;
        role.pays_for_retention = random.chance(300);
        role.inflates_benchmark = bench.chance(100);
        role.mute = !role.inflates_benchmark && bench.chance(100);
        if (role.fraud && random.chance(150))
            role.protocol_attack = solver::ProtocolAttack::withhold;  // Two frauds at once.
        role.price_bp = role.honest() ? random.between(6500, 9500) : random.between(5000, 8500);
        out.solvers.push_back(role);
    }
    out.verifiers.assign(2, honest_verifier());
    for (std::uint64_t more = random.between(1, 3); more > 0; --more) {
        VerifierRole role = honest_verifier();
        if (random.chance(700)) role = *verifier_named(random.pick(verifier_names()));
        role.stake = coins(random.between(20, 100));
        out.verifiers.push_back(role);
    }
    constexpr std::uint64_t kWatched[] = {0, 0, 3000, 10000};
    for (VerifierRole& role : out.verifiers) role.watch_bp = random.pick(kWatched);
    std::uint64_t at = random.between(40, 60);
    for (std::uint64_t more = random.between(1, 2); more > 0; --more) {
        out.planned_tasks.push_back(random_task(random, at, out.solvers.size()));
        at += random.below(60);
    }
    Random crowd(seed ^ 0xc50bdull);  // A separate stream, so that other seeds keep their meaning.
    if (crowd.chance(120)) make_crowd(out, crowd);
    for (SolverRole& role : out.solvers) role.speed_bp = speeds.pick(kSpeeds);
    for (VerifierRole& role : out.verifiers) role.speed_bp = speeds.pick(kSpeeds);
    out.network.delay_max = random.between(100, 1100);
    out.network.loss_permille = static_cast<unsigned>(random.below(80));
    // Once drew one of three equal proposers; kept, so that the draws below are those of older seeds.
    const bool malicious = random.below(4) >= 2;
    Random committee(seed ^ 0xc0881773ull);
    if (malicious) out.validators = random_validators(committee);
    out.shares = malicious && committee.chance(250);
    if (random.chance(300)) out.node_crash_permille = 20;
    if (random.chance(800)) out.outages = random_outages(random, out.parties());
    // A solver that serves nobody but answers each report, with auditors that guess: each of the 1 + redraws rounds of a
    // segment takes the reports of its audit (8 · 34 blocks) and those of a dispute (8 · 104).
    constexpr std::uint64_t kSegmentBlocks = 4'500;
    for (const PlannedTask& planned : out.planned_tasks)
        out.blocks_max = std::max(out.blocks_max, 2'000 + kSegmentBlocks * (planned.steps / planned.interval + 1));
    return out;
}

std::string Scenario::describe() const {
    std::string out = "solvers:";
    for (const SolverRole& role : solvers) out += " " + role.describe();
    out += "; verifiers:";
    for (const VerifierRole& role : verifiers) out += " " + role.describe();
    out += "; validators:";
    for (const ValidatorRole& role : validators) out += " [" + role.describe() + "]";
    out += shares ? " with shares; tasks:" : "; tasks:";
    for (const PlannedTask& planned : planned_tasks) {
        if (planned.group)
            out += " [group of " + std::to_string(planned.group->members) + ", " +
                   std::to_string(planned.group->rounds) + " rounds, audited " + std::to_string(planned.audit_bp) +
                   " bp by " + std::to_string(planned.auditors) + "]";
        if (planned.group) continue;
        out += " [" + std::to_string(planned.steps) + " steps, " + std::to_string(planned.interval) +
               " a segment, replicas " + std::to_string(planned.replicas) + " to " +
               std::to_string(std::max(planned.replicas, planned.raise_to)) + ", audited " +
               std::to_string(planned.audit_bp) + " bp by " + std::to_string(planned.auditors) + ", requester " +
               std::string(slug(planned.fraud)) + "]";
    }
    return out + "; outages: " + std::to_string(outages.size());
}

}  // namespace retrace::sim
