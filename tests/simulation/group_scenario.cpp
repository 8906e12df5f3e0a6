// SPDX-License-Identifier: MIT
#include "tests/simulation/group_scenario.hpp"

#include <algorithm>
#include <utility>

namespace retrace::sim {
namespace {

PlannedTask planned_group(const PlannedGroup& group) {
    PlannedTask out;
    out.group = group;
    out.audit_bp = 2'500;
    out.auditors = 2;
    return out;
}

SolverRole random_member(Random& random, std::uint32_t rounds) {
    SolverRole role = *solver_named("honest");
    role.price_bp = random.between(5'500, 9'500);
    role.member_steps = random.chance(500) ? 0 : static_cast<std::uint32_t>(random.between(1, 4));
    if (random.chance(300))
        for (std::uint64_t more = random.between(1, 2); more > 0; --more)
            role.away.insert(static_cast<std::uint32_t>(random.below(rounds)));
    if (random.chance(80)) role.leaves_in = static_cast<std::uint32_t>(random.below(rounds));
    return role;
}

}  // namespace

void roll_back(PlannedGroup& group, std::uint8_t rollbacks, std::uint32_t ahead) {
    group.rollbacks = rollbacks;
    group.ahead = ahead;
    group.rounds = 4 * rollbacks * ahead;
}

Scenario calm_group() {
    Scenario out = calm_scenario();
    out.solvers.assign(4, *solver_named("honest"));
    out.verifiers.assign(4, *verifier_named("honest"));
    PlannedGroup group;
    group.rounds = 3;
    out.planned_tasks.assign(1, planned_group(group));
    return out;
}

void make_private(Scenario& scenario) {
    PlannedGroup& group = *scenario.planned_tasks[0].group;
    group.is_private = true;
    for (std::size_t i = 0; i < scenario.solvers.size(); ++i) group.admitted.insert("solver" + std::to_string(i));
}

void give_data(Scenario& scenario, std::size_t solver, std::size_t verifier) {
    scenario.solvers[solver].consents.insert("verifier" + std::to_string(verifier));
    scenario.verifiers[verifier].has_data_of.insert("solver" + std::to_string(solver));
}

const std::vector<std::string>& group_member_names() {
    static const std::vector<std::string> kNames = {
        "ulp",         "skip_steps",      "wrong_data",   "stale_checkpoint", "silent",    "poison_nan",
        "poison_norm", "copy_message",    "withhold",     "wrong_tiles",      "flood",     "hide",
        "answer_late", "wrong_message",   "hide_message", "list_falsely",     "lie_steps", "lie_trace",
        "lie_tile",    "stop_in_dispute", "opens_late",   "gives_up",         "sleeps",    "sends_late"};
    return kNames;
}

std::optional<SolverRole> group_member_named(std::string_view name) {
    static const std::set<std::string_view> kOfGroups = {"opens_late", "gives_up",      "sleeps",
                                                         "sends_late", "switches_data", "false_start",
                                                         "serves_one", "never_finishes"};
    if (!kOfGroups.contains(name)) return solver_named(name);
    SolverRole role = *solver_named("honest");
    role.price_bp = 7'000;
    role.switches_data = name == "switches_data";
    role.false_start = name == "false_start";
    role.opens_late = name == "opens_late";
    role.gives_up = name == "gives_up";
    role.sends_late = name == "sends_late";
    role.never_finishes = name == "never_finishes";
    if (name == "serves_one") role.serves_only = "solver1";
    if (name == "sleeps")
        for (std::uint32_t round = 0; round < 64; ++round) role.away.insert(round);
    return role;
}

Scenario group_scenario(std::uint64_t seed) {
    Random random(seed ^ 0x6e0005ull);
    Scenario out;
    PlannedGroup group;
    constexpr std::uint64_t kMembers[] = {4, 4, 4, 4, 4, 5, 5, 6, 8, 12};
    group.members = static_cast<std::uint8_t>(random.pick(kMembers));
    group.rounds = static_cast<std::uint32_t>(random.between(2, 4));
    group.least = static_cast<std::uint8_t>(std::max<std::uint64_t>(2, group.members / 2));
    const std::uint64_t late = random.below(3);  // Some seats stay free for those that join.
    for (std::uint64_t i = 0; i < group.members; ++i) {
        out.solvers.push_back(random_member(random, group.rounds));
        out.solvers.back().joins = i + late >= group.members && i >= group.least;
        out.solvers.back().floods_in_bursts = true;
    }
    const bool malicious = random.chance(800);
    for (std::uint64_t i = 0; malicious && 4 * (i + 1) <= group.members; ++i) {
        SolverRole& role = out.solvers[i];
        const std::uint64_t price = role.price_bp;
        role = *group_member_named(random.pick(group_member_names()));
        role.price_bp = price;
        role.floods_in_bursts = true;
        if (random.chance(600)) role.segment = random.below(group.rounds);
    }
    out.verifiers.assign(4, *verifier_named("honest"));
    if (malicious && random.chance(600)) out.verifiers[0] = *verifier_named(random.pick(verifier_names()));
    if (malicious && random.chance(400)) out.verifiers[0] = *verifier_named("colluder");
    PlannedTask planned = planned_group(group);
    planned.seed = random.below(1000);
    constexpr std::uint16_t kAuditShares[] = {500, 2500, 10000};
    planned.audit_bp = random.pick(kAuditShares);
    planned.auditors = static_cast<std::uint8_t>(random.between(1, 2));
    planned.at_height = random.between(25, 40);
    out.planned_tasks = {planned};
    constexpr std::uint64_t kSpeeds[] = {kJustAllowed, 15'000, 30'000, kFast, 4 * kFast};
    for (SolverRole& role : out.solvers) role.speed_bp = random.pick(kSpeeds);
    for (VerifierRole& role : out.verifiers) role.speed_bp = random.pick(kSpeeds);
    out.network.delay_max = random.between(100, 1100);
    out.network.loss_permille = static_cast<unsigned>(random.below(80));
    if (random.chance(500)) out.validators = random_validators(random);
    if (random.chance(200)) out.node_crash_permille = 20;
    if (random.chance(800)) out.outages = random_outages(random, out.parties());
    // Half of the groups take old messages, and some of their members send as late as they may.
    if (random.chance(500)) {
        out.planned_tasks[0].group->max_age = static_cast<std::uint32_t>(random.between(1, 2));
        for (SolverRole& role : out.solvers) role.sends_late = random.chance(300);
    } else if (random.chance(250)) {
        roll_back(*out.planned_tasks[0].group, 1, 2);
    }
    Random more(seed ^ 0x0e1dull);  // Separate streams, so that other seeds keep their meaning.
    if (malicious && more.chance(100)) out.solvers[0].never_finishes = true;
    if (malicious && more.chance(100)) out.solvers[0].serves_only = "solver1";
    Random data(seed ^ 0xda7aull);
    if (out.planned_tasks[0].group->rollbacks == 0 && data.chance(300)) {
        make_private(out);
        for (std::size_t i = 0; i < out.solvers.size(); ++i)
            if (data.chance(500)) give_data(out, i, data.below(out.verifiers.size()));
        if (malicious && data.chance(400)) {
            out.solvers[0].switches_data = data.chance(500);
            out.solvers[0].false_start = !out.solvers[0].switches_data;
        }
        if (malicious && data.chance(150)) {
            out.solvers[0].opens_late = out.solvers[0].opens_late || data.chance(500);
            VerifierRole& silent = out.verifiers[0];
            const VerifierRole before = std::exchange(silent, *verifier_named("false_reporter"));
            silent.no_verdicts = true;
            silent.speed_bp = before.speed_bp;
            silent.has_data_of = before.has_data_of;
        }
    }
    return out;
}

Scenario masked_scenario(std::uint64_t seed) {
    Scenario out = group_scenario(seed);
    Random random(seed ^ 0x3a5c0ull);
    PlannedGroup& group = *out.planned_tasks[0].group;
    // Neither goes with masks (contracts 21.11.1, 21.11.34, 21.14.1).
    group.max_age = 0;
    group.is_private = false;
    group.admitted.clear();
    if (group.rollbacks != 0) group.rounds = 3;
    group.rollbacks = 0;
    group.ahead = 0;
    group.masked = true;
    group.least = std::max<std::uint8_t>(3, group.least);
    constexpr const char* kCalls[] = {"maskKeys", "maskShares", "complainOfShare", "unmask", "showMasks"};
    for (SolverRole& role : out.solvers) {
        role.consents.clear();
        role.switches_data = role.false_start = role.sends_late = false;
    }
    for (VerifierRole& role : out.verifiers) role.has_data_of.clear();
    for (std::size_t i = 0; 4 * (i + 1) <= out.solvers.size(); ++i) {
        SolverRole& role = out.solvers[i];
        if (random.chance(300)) role.omits.insert(random.pick(kCalls));
        if (random.chance(150)) role.deals_garbage = true;
        if (random.chance(250)) {
            const std::uint64_t price = role.price_bp, speed = role.speed_bp;
            role = *group_member_named("wrong_mask");
            role.price_bp = price;
            role.speed_bp = speed;
        }
    }
    return out;
}

}  // namespace retrace::sim
