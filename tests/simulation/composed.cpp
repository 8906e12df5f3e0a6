// SPDX-License-Identifier: MIT
#include "tests/simulation/composed.hpp"

#include <algorithm>

#include "market/escrow.hpp"

namespace retrace::sim {
namespace {

using ledger::U256;

constexpr std::uint64_t kPosted = 40;  // Height of the first task; all parties are registered by then.
constexpr std::uint64_t kOwnersSpeeds[] = {kJustAllowed, kFast, 40 * kFast};
constexpr std::uint64_t kHonestSpeeds[] = {kJustAllowed, kJustAllowed, 15'000, 30'000, kFast};

/// The owner's half of a scenario. The stakes of all its parties are paid from one budget.
class OwnerDraft {
public:
    OwnerDraft(Scenario& scenario, Random& random)
        : scenario_(scenario), random_(random), budget_(random.between(40, 400)) {}

    /// Returns false if the budget is too small for another party.
    bool add_solver(SolverRole role) {
        if (!take_stake(kSolverStake)) return false;
        role.stake = coins(kSolverStake);
        role.speed_bp = random_.pick(kOwnersSpeeds);
        scenario_.owned.insert("solver" + std::to_string(scenario_.solvers.size()));
        scenario_.solvers.push_back(std::move(role));
        return true;
    }
    bool add_verifier(VerifierRole role) {
        if (!take_stake(kVerifierStake)) return false;
        role.stake = coins(kVerifierStake);
        role.speed_bp = random_.pick(kOwnersSpeeds);
        scenario_.owned.insert("verifier" + std::to_string(scenario_.verifiers.size()));
        scenario_.verifiers.push_back(std::move(role));
        return true;
    }
    /// Adds a task of the owner; its solvers and auditors are drawn as for any other task.
    PlannedTask& add_decoy(std::uint64_t segments) {
        if (scenario_.requesters == 1) {
            scenario_.requesters = 2;
            scenario_.bad_requesters.insert(1);
            scenario_.owned.insert("requester1");
        }
        PlannedTask planned;
        planned.requester = 1;
        planned.kind = random_.below(3);
        planned.seed = random_.below(1000);
        planned.interval = random_.between(1, 2);
        planned.steps = planned.interval * segments;
        planned.audit_bp = static_cast<std::uint16_t>(random_.pick(kDecoyShares));
        planned.auditors = static_cast<std::uint8_t>(random_.between(1, 3));
        planned.at_height = kPosted + random_.below(80);
        scenario_.planned_tasks.push_back(planned);
        return scenario_.planned_tasks.back();
    }

private:
    static constexpr std::uint64_t kSolverStake = 20, kVerifierStake = 10;
    static constexpr std::uint64_t kDecoyShares[] = {100, 2'500, 10'000};

    bool take_stake(std::uint64_t amount) {
        if (amount > budget_) return false;
        budget_ -= amount;
        return true;
    }

    Scenario& scenario_;
    Random& random_;
    std::uint64_t budget_;
};

// The plans of an owner, each of which works alone or together with any others of the list.

void challenge_falsely(OwnerDraft& owner, Random& random) {
    for (std::uint64_t count = random.between(1, 4); count > 0; --count) owner.add_verifier(*verifier_named("griefer"));
}

void accuse_falsely(OwnerDraft& owner, Random&) { owner.add_verifier(*verifier_named("false_accuser")); }

/// Accomplices dispute the owner's own task, whose solver may also belong to the owner.
void dispute_decoys(OwnerDraft& owner, Random& random) {
    owner.add_decoy(random.between(8, 24));
    SolverRole solver = *solver_named("honest");
    solver.price_bp = 100;
    solver.owned = true;
    owner.add_solver(solver);
    owner.add_verifier(*verifier_named("griefer"));
}

void report_in_bursts(OwnerDraft& owner, Random& random) {
    owner.add_decoy(random.between(2, 4)).fraud = RequesterFraud::burst;
}

void report_falsely(OwnerDraft& owner, Random& random) {
    for (std::uint64_t count = random.between(1, 2); count > 0; --count)
        owner.add_verifier(*verifier_named("false_reporter"));
}

/// Replicas of one task end in different states.
void differ(OwnerDraft& owner, Random& random) {
    PlannedTask& decoy = owner.add_decoy(random.between(2, 5));
    decoy.replicas = static_cast<std::uint8_t>(random.between(2, 3));
    SolverRole solver = *solver_named(random.chance(500) ? "hyper_parameter" : "ulp");
    solver.price_bp = random.between(3'000, 6'000);
    owner.add_solver(solver);
}

/// A solver commits to every state at once and leaves, while its requester looks for replicas that work unpaid.
void raise_and_leave(OwnerDraft& owner, Random& random) {
    owner.add_decoy(random.between(6, 20)).raise_to = 2;
    SolverRole solver = *solver_named("blind");
    solver.price_bp = 100;
    owner.add_solver(solver);
}

/// A solver joins the tasks of others and falls silent there.
void join_and_be_silent(OwnerDraft& owner, Random& random) {
    SolverRole solver = *solver_named(random.chance(500) ? "silent" : "blind");
    solver.price_bp = random.between(2'000, 5'000);
    owner.add_solver(solver);
    owner.add_decoy(random.between(4, 8)).raise_to = static_cast<std::uint8_t>(random.between(2, 3));
}

void cheat_with_auditors(OwnerDraft& owner, Random& random) {
    static constexpr const char* kAttacks[] = {"skip_steps", "stale_checkpoint", "ulp", "wrong_data", "withhold"};
    SolverRole solver = *solver_named(random.pick(kAttacks));
    solver.price_bp = random.between(3'000, 6'000);
    if (random.chance(500)) solver.segment = random.below(4);
    owner.add_solver(solver);
    owner.add_verifier(*verifier_named("colluder"));
}

void flood(OwnerDraft& owner, Random& random) {
    SolverRole solver = *solver_named("flood");
    solver.floods_in_bursts = true;
    solver.price_bp = random.between(3'000, 9'000);
    owner.add_solver(solver);
    for (std::uint64_t count = random.between(1, 3); count > 0; --count)
        owner.add_decoy(random.between(2, 4)).fraud = RequesterFraud::burst;
}

/// Bids the lowest and the highest allowed prices on as many tasks as it may post.
void bid_at_limits(OwnerDraft& owner, Random& random) {
    for (const std::uint64_t price : {std::uint64_t{1}, std::uint64_t{10'000}}) {
        SolverRole solver = *solver_named(random.chance(500) ? "honest" : "silent");
        solver.price_bp = price;
        solver.owned = true;
        owner.add_solver(solver);
    }
    for (std::uint64_t count = random.between(2, 5); count > 0; --count) {
        PlannedTask& decoy = owner.add_decoy(random.between(2, 3));
        if (random.chance(400)) decoy.fraud = RequesterFraud::withdraw;
    }
}

void be_idle_in_seats(OwnerDraft& owner, Random& random) {
    static constexpr const char* kAttacks[] = {"copier", "never_reveals", "guesser", "no_show"};
    owner.add_verifier(*verifier_named(random.pick(kAttacks)));
}

using Plan = void (*)(OwnerDraft&, Random&);
constexpr Plan kPlans[] = {challenge_falsely,   accuse_falsely, dispute_decoys,  report_in_bursts,
                           report_falsely,      differ,         raise_and_leave, join_and_be_silent,
                           cheat_with_auditors, flood,          bid_at_limits,   be_idle_in_seats};

void add_honest(Scenario& scenario, Random& random) {
    for (SolverRole& role : scenario.solvers) {
        role.price_bp = random.between(6'500, 9'500);
        role.speed_bp = random.pick(kHonestSpeeds);
    }
    for (VerifierRole& role : scenario.verifiers) role.speed_bp = random.pick(kHonestSpeeds);
    scenario.planned_tasks.clear();
    for (std::uint64_t count = random.between(1, 2); count > 0; --count) {
        PlannedTask planned;
        planned.kind = random.below(3);
        planned.interval = random.between(1, 3);
        planned.steps = planned.interval * random.between(2, 5) + random.below(planned.interval);
        planned.seed = random.below(1000);
        planned.audit_bp = 10'000;
        planned.auditors = 3;
        if (random.chance(200)) planned.raise_to = 2;
        planned.at_height = kPosted + random.below(80);
        scenario.planned_tasks.push_back(planned);
    }
}

/// Half of the seeds keep the audit of all segments by three auditors, where chance excuses the least.
void vary_audits(Scenario& scenario, Random& random) {
    if (random.chance(500)) return;
    constexpr std::uint16_t kShares[] = {500, 1'000, 2'500, 5'000, 10'000};
    for (PlannedTask& planned : scenario.planned_tasks) {
        planned.audit_bp = random.pick(kShares);
        planned.auditors = static_cast<std::uint8_t>(random.between(1, market::kAuditorsMax));
        while (scenario.verifiers.size() < planned.auditors) {
            scenario.verifiers.push_back(scenario.verifiers.front());
            scenario.verifiers.back().speed_bp = random.pick(kHonestSpeeds);
        }
    }
}

U256 wealth(const Outcome& outcome, const std::string& name) {
    const auto& balance = outcome.balances.at(name);
    return balance.coins + balance.bonded + balance.fees;
}

/// Evaluates the records of a run for the parties of its scenario.
class Account {
public:
    Account(const Scenario& scenario, const Outcome& outcome) : scenario_(scenario), outcome_(outcome) {}

    bool owns(const ledger::Address& party) const {
        const auto found = outcome_.names.find(party);
        return found != outcome_.names.end() && scenario_.owned.contains(found->second);
    }
    /// Number of paid segments of a run, without the wrong ones that chance does not excuse.
    std::uint64_t justly_paid(const Outcome::TaskEnd& task, std::size_t run) const;
    /// Worth of the work that the owner's machines did as asked for others, including wrong segments excused by chance.
    U256 worth_of_honest_work() const;

private:
    /// Whether a segment starts correctly and ends in a wrong state. If its start is wrong too, its correct end is
    /// unknown.
    static bool is_wrong(const Outcome::TaskEnd& task, std::size_t run, std::uint64_t segment);
    bool is_excused(const Outcome::TaskEnd& task, std::size_t run, std::uint64_t segment) const;

    const Scenario& scenario_;
    const Outcome& outcome_;
};

bool Account::is_wrong(const Outcome::TaskEnd& task, std::size_t run, std::uint64_t segment) {
    const auto& roots = task.roots.at(run);
    const bool knows = segment == 0 || roots.at(segment) == task.truth.at(segment);
    return knows && roots.at(segment + 1) != task.truth.at(segment + 1);
}

/// Chance excuses a wrong segment (market 5) if it was not drawn and no audit of it was promised, or if all drawn
/// auditors belong to the owner and are as many as the task asks for. Any other drawn auditor must detect it.
bool Account::is_excused(const Outcome::TaskEnd& task, std::size_t run, std::uint64_t segment) const {
    const market::Run& of = task.runs.at(run);
    const auto audit = std::find_if(outcome_.audits.begin(), outcome_.audits.end(), [&](const market::Audit& one) {
        return one.task == of.task && one.run == of.index && one.segment == segment;
    });
    if (audit == outcome_.audits.end())
        return segment != of.first_state && segment + 1 != task.spec.segments() &&
               task.spec.audit_bp != market::kBasisPoints;
    return audit->seats.size() >= task.spec.auditors &&
           std::all_of(audit->seats.begin(), audit->seats.end(),
                       [&](const market::Seat& seat) { return owns(seat.auditor); });
}

std::uint64_t Account::justly_paid(const Outcome::TaskEnd& task, std::size_t run) const {
    const market::Run& of = task.runs.at(run);
    std::uint64_t count = 0;
    for (std::uint64_t segment = of.first_state; segment < of.paid; ++segment)
        count += is_wrong(task, run, segment) && !is_excused(task, run, segment) ? 0 : 1;
    return count;
}

U256 Account::worth_of_honest_work() const {
    U256 sum;
    for (const auto& task : outcome_.tasks) {
        if (owns(task.requester)) continue;  // The owner pays itself.
        for (std::size_t i = 0; i < task.runs.size(); ++i)
            if (owns(task.runs[i].solver))
                sum += ledger::min(task.runs[i].earned, task.runs[i].price * U256(justly_paid(task, i)));
    }
    for (const market::Audit& audit : outcome_.audits) {
        const auto& task = outcome_.tasks.at(audit.task - 1);
        if (owns(task.requester)) continue;
        const U256 fee = market::audit_fee(scenario_.params, task.spec);
        const bool wrong = is_wrong(task, audit.run, audit.segment) && !is_excused(task, audit.run, audit.segment);
        for (const market::Seat& seat : audit.seats) {
            const bool right = seat.root == task.truth.at(audit.segment + 1) ||
                               (!wrong && seat.root == task.roots.at(audit.run).at(audit.segment + 1));
            if (seat.paid && owns(seat.auditor) && (right || seat.root.is_zero())) sum += fee;
        }
    }
    for (const market::Report& report : outcome_.reports) {
        const auto& runs = outcome_.tasks.at(report.task - 1).runs;
        if (report.state == market::ReportState::answered && !owns(report.reporter) && owns(runs.at(report.run).solver))
            sum += report.fee;
    }
    return sum;
}

/// Fees that a party paid for answers to its reports.
U256 asked(const Outcome& outcome, const std::string& name) {
    U256 sum;
    for (const market::Report& report : outcome.reports)
        if (report.state == market::ReportState::answered && outcome.names.at(report.reporter) == name)
            sum += report.fee;
    return sum;
}

}  // namespace

Scenario composed_scenario(std::uint64_t seed) {
    Random random(seed ^ 0xc0317053du);
    Scenario out = calm_scenario();
    out.costs.tile = 2;  // A dispute hashes the outputs of hundreds of ops, while a replay's time is in its steps.
    add_honest(out, random);
    Random audits(seed ^ 0xa0d175u);  // A separate stream, so that the other draws of a seed stay as they were.
    vary_audits(out, audits);
    OwnerDraft owner(out, random);
    // Picks a random number of different plans.
    std::vector<Plan> plans(std::begin(kPlans), std::end(kPlans));
    for (std::uint64_t count = random.between(2, 5); count > 0; --count) {
        const std::size_t chosen = random.below(plans.size());
        plans[chosen](owner, random);
        plans.erase(plans.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    // Tasks are posted in the order of their heights.
    std::stable_sort(out.planned_tasks.begin(), out.planned_tasks.end(),
                     [](const PlannedTask& a, const PlannedTask& b) { return a.at_height < b.at_height; });
    // Without honest auditors, no segment may be paid as if it had been audited. The owner has fewer verifiers than
    // there are seats: the case that all drawn auditors collude belongs to the odds (market 5).
    if (random.chance(50)) {
        for (PlannedTask& planned : out.planned_tasks)
            if (planned.requester == 0) planned.auditors = std::max<std::uint8_t>(planned.auditors, 2);
        std::erase_if(out.verifiers, [](const VerifierRole& role) { return role.honest(); });
        if (out.verifiers.size() > 1) out.verifiers.resize(1);
        std::erase_if(out.owned, [](const std::string& name) { return name.starts_with("verifier"); });
        if (!out.verifiers.empty()) out.owned.insert("verifier0");
    }
    // A cheater that serves nobody but answers each report takes this long for a segment and reports its own auditor.
    constexpr std::uint64_t kSegmentBlocks = 1'000;
    for (const PlannedTask& planned : out.planned_tasks)
        out.blocks_max = std::max(out.blocks_max, 2'000 + kSegmentBlocks * (planned.steps / planned.interval + 1));
    out.network.delay_max = random.between(100, 900);
    out.network.loss_permille = static_cast<unsigned>(random.below(40));
    Random committee(seed ^ 0xc0881773u);  // A separate stream, so that the other draws of a seed stay as they were.
    if (committee.chance(500)) {
        out.validators = random_validators(committee);
        out.shares = committee.chance(250);
        out.owned.insert(kFrontRunner);
    }
    return out;
}

Judgement judge(const Scenario& scenario, const Outcome& outcome) {
    Judgement out;
    const auto lose = [&](const std::string& sentence) {
        ++out.honest_losses;
        out.sentences.push_back(sentence);
    };
    for (const std::string& unpaid : outcome.findings.unpaid_work) lose(unpaid);
    // If a run was stopped at a violation, deposits and escrow are not paid back.
    if (!outcome.good()) {
        out.honest_losses += outcome.findings.honest_slashed;
        return out;
    }
    U256 gained, began;
    for (const auto& [name, balance] : outcome.balances) {
        if (name.starts_with("validator-")) continue;  // It earns tips, and is slashed for its votes only.
        if (scenario.owned.contains(name)) {
            gained += wealth(outcome, name);
            began += initial_coins();
        } else if (!name.starts_with("requester")) {
            const U256 has = wealth(outcome, name) + asked(outcome, name);
            if (has < initial_coins()) lose("honest " + name + " lost " + (initial_coins() - has).to_decimal());
        }
    }
    const Account account(scenario, outcome);
    for (const auto& task : outcome.tasks) {
        if (account.owns(task.requester)) continue;
        for (std::size_t i = 0; i < task.runs.size(); ++i)
            if (task.runs[i].earned > task.runs[i].price * U256(account.justly_paid(task, i)))
                lose("a requester paid " + outcome.solver_of(task.runs[i]) + " for what is wrong");
    }
    const U256 worth = account.worth_of_honest_work();
    if (!scenario.owned.empty() && gained > began + worth) {
        out.owners_ahead = 1;
        out.sentences.push_back("the owner gained " + (gained - began).to_decimal() + " by work that is worth " +
                                worth.to_decimal());
    }
    return out;
}

}  // namespace retrace::sim
