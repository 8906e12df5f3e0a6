// SPDX-License-Identifier: MIT
// retrace econ: expected results of cheating, auditing and honest work under a genesis
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <iomanip>
#include <iostream>

#include "market/econ_simulation.hpp"
#include "node/cmd/cli.hpp"
#include "node/platform/units.hpp"
#include "node/server/config/genesis_file.hpp"
#include "node/server/config/params_json.hpp"
#include "node/server/rules.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
using ledger::U256;
using market::Prospect;

constexpr std::uint64_t kTasksMax = 1'000'000;  ///< Limit of a simulation.

struct EconFlags {
    std::string genesis, price, stake;
    std::vector<std::string> set;
    std::uint64_t segments = 100, audit_bp = 500, auditors = 2, cost_bp = 8'000, verifiers = 10;
    std::uint64_t simulate = 0, seed = 1;
};

/// Formats a signed difference in units of 18 decimals.
std::string difference(const U256& plus, const U256& minus) {
    return plus < minus ? "-" + (minus - plus).to_decimal() : (plus - minus).to_decimal();
}
std::string coins(const U256& plus, const U256& minus) {
    return plus < minus ? "-" + format_coins(minus - plus, 6) : format_coins(plus - minus, 6);
}
std::string percent(std::uint64_t bp) {
    return std::to_string(bp / 100) + "." + (bp % 100 < 10 ? "0" : "") + std::to_string(bp % 100) + " %";
}

U256 two_128() {
    const U256 two_64 = U256(1) + U256(~std::uint64_t{0});
    return two_64 * two_64;
}

/// Applies changes "name=value" with the names and values of a genesis file.
Result<market::Params> with_changes(const market::Params& params, const std::vector<std::string>& changes) {
    // Converted to text and back, so that numbers have the same JSON kinds as in a file.
    json::object object = json::parse(json::serialize(params_to_json(params))).get_object();
    for (const std::string& change : changes) {
        const std::size_t equals = change.find('=');
        if (equals == std::string::npos) return error("--set takes NAME=VALUE");
        const std::string name = change.substr(0, equals), text = change.substr(equals + 1);
        const json::value* before = object.if_contains(name);
        boost::system::error_code code;
        const json::value value =
            before != nullptr && before->is_string() ? json::value(text) : json::parse(text, code);
        if (code) return error("--set " + name + ": " + text + " is no value");
        object[name] = value;
    }
    return params_from_json(object);
}

Result<market::Params> chain_params(const EconFlags& flags) {
    if (flags.genesis.empty()) return default_params();
    RETRACE_TRY(genesis, load_genesis(flags.genesis, native_rules().encode_genesis));
    return market::decode_params(genesis.contracts);
}

Result<market::Setting> setting_of(const market::Params& chain, const EconFlags& flags) {
    if (flags.segments == 0 || flags.segments > market::kSegmentsMax) return error("--segments is 1 to 1000000");
    if (flags.audit_bp > market::kBasisPoints) return error("--audit-bp is at most 10000");
    if (flags.auditors == 0 || flags.auditors > market::kAuditorsMax) return error("--auditors is 1 to 5");
    if (flags.cost_bp > market::kBasisPoints) return error("--cost-bp is at most 10000");
    if (flags.verifiers == 0 || flags.verifiers > market::kVerifiersMax) return error("--verifiers is 1 to 1024");
    market::Setting setting;
    RETRACE_TRY(params, with_changes(chain, flags.set));
    setting.params = params;
    setting.spec.steps = flags.segments;
    setting.spec.interval = 1;
    setting.spec.audit_bp = static_cast<std::uint16_t>(flags.audit_bp);
    setting.spec.auditors = static_cast<std::uint8_t>(flags.auditors);
    setting.cost_bp = flags.cost_bp;
    setting.verifiers = flags.verifiers;
    const auto price = flags.price.empty() ? std::optional(params.audit_fee) : parse_coins(flags.price);
    if (!price || price->is_zero() || *price > U256::max() / two_128())
        return error("--price must be coins for a segment, more than none and below 2^128 of the smallest unit");
    setting.spec.price_ceiling = *price;
    const auto floor = market::stake_floor(params, setting.spec);
    if (!floor) return error("nothing is audited: no stake is enough");
    const auto stake = flags.stake.empty() ? floor : parse_coins(flags.stake);
    if (!stake) return error("--stake must be coins");
    setting.stake = *stake;
    return setting;
}

json::object prospect_json(const Prospect& p) {
    return {{"fraud", std::string(market::slug(p.fraud))}, {"win", p.win.to_decimal()}, {"lose", p.lose.to_decimal()},
            {"gain", difference(p.win, p.lose)},           {"pays", p.pays()},          {"asserted", p.asserted}};
}

json::object odds_json(const market::Setting& setting) {
    const auto chance =
        market::effective_audit_probability(setting.spec.audit_bp, setting.params.collusion_bp, setting.spec.auditors);
    json::object out;
    for (const std::uint64_t bad : {1, 2, 5, 10})
        if (bad <= setting.spec.segments())
            out[std::to_string(bad)] = static_cast<double>(market::detection_ppm(chance, bad)) / 1e6;
    return out;
}

json::object report_json(const market::Setting& s) {
    const auto bounds = market::limits(s).value();
    const auto books = market::audit_books(s);
    json::array frauds;
    for (const Prospect& p : market::prospects(s)) frauds.push_back(prospect_json(p));
    return {{"segments", s.spec.segments()},
            {"segment_price", s.spec.price_ceiling.to_decimal()},
            {"audit_bp", s.spec.audit_bp},
            {"auditors", s.spec.auditors},
            {"least_stake", bounds.least_stake.to_decimal()},
            {"stake_floor", market::stake_floor(s.params, s.spec).value().to_decimal()},
            {"stake", s.stake.to_decimal()},
            {"collusion_borne", static_cast<double>(bounds.collusion_bp) / 1e4},
            {"collusion_borne_if_served", static_cast<double>(bounds.served_collusion_bp) / 1e4},
            {"detection", odds_json(s)},
            {"frauds", std::move(frauds)},
            {"beacon_penalty", s.params.beacon_penalty.to_decimal()},
            // Null: at any price.
            {"price_for_auditors", bounds.price_for_auditors == U256::max()
                                       ? json::value(nullptr)
                                       : json::value(bounds.price_for_auditors.to_decimal())},
            {"audits", static_cast<double>(books.audits_milli) / 1e3},
            {"replay_share", static_cast<double>(books.replays_bp) / 1e4},
            {"audit_cost_share", static_cast<double>(market::audit_cost_bp(s.params, s.spec)) / 1e4},
            {"verifier_income", books.income.to_decimal()},
            {"verifier_expense", books.expense.to_decimal()},
            {"cheating_pays", !market::faults(s).empty()}};
}

void print_report(const market::Setting& s) {
    const auto bounds = market::limits(s).value();
    const auto books = market::audit_books(s);
    std::cout << "task           " << s.spec.segments() << " segments at " << format_coins(s.spec.price_ceiling)
              << ", each audited with " << percent(s.spec.audit_bp) << " by " << int{s.spec.auditors}
              << "; the first and the last always\nstake          locked " << format_coins(s.stake, 6)
              << ", least without safety " << format_coins(bounds.least_stake, 6) << ", bears "
              << percent(bounds.collusion_bp) << " of colluding verifier stake (" << percent(bounds.served_collusion_bp)
              << " if everybody is served)\ndetection     ";
    for (const auto& [bad, chance] : odds_json(s))
        std::cout << " " << std::string(bad) << " bad " << std::fixed << std::setprecision(2)
                  << 100 * chance.as_double() << " %;";
    std::cout << "\naudits         " << std::setprecision(1) << static_cast<double>(books.audits_milli) / 1e3
              << " expected, replaying " << percent(books.replays_bp) << " of the work for "
              << percent(market::audit_cost_bp(s.params, s.spec)) << " of the price\nverifier       earns "
              << format_coins(books.income, 6) << " a task, its replays cost " << format_coins(books.expense, 6)
              << " (one of " << s.verifiers << ")\nlimits         the audit fee covers segments "
              << (bounds.price_for_auditors == U256::max() ? std::string("of any price")
                                                           : "up to " + format_coins(bounds.price_for_auditors, 6))
              << "\n\nexpected gain over honest play, in coins\n";
    for (const Prospect& p : market::prospects(s)) {
        std::cout << std::setw(14) << coins(p.win, p.lose) << "  " << std::left << std::setw(17)
                  << market::slug(p.fraud) << std::right << market::sentence(p.fraud)
                  << (!p.asserted ? " (stopped by honest auditors and challengers only)"
                      : p.pays()  ? " ** PAYS **"
                                  : "")
                  << '\n';
    }
}

json::array strategies_json(const std::vector<market::StrategyResult>& results) {
    json::array out;
    for (const market::StrategyResult& r : results)
        out.push_back(json::object{{"strategy", r.strategy},
                                   {"agents", r.agents},
                                   {"jobs", r.jobs},
                                   {"convictions", r.convictions},
                                   {"profit", difference(r.earned, r.spent)}});
    return out;
}

json::object economy_json(const market::Economy& economy, const EconFlags& flags) {
    return {{"tasks", flags.simulate},
            {"seed", flags.seed},
            {"bad_segments", economy.bad_segments},
            {"caught", economy.caught},
            {"burned", economy.burned.to_decimal()},
            {"conserved", economy.conserved},
            {"solvers", strategies_json(economy.solvers)},
            {"verifiers", strategies_json(economy.verifiers)},
            {"rings", strategies_json(economy.rings)},
            {"honest_best", economy.honest_best()}};
}

void print_economy(const market::Economy& economy, const EconFlags& flags) {
    std::cout << "\n"
              << flags.simulate << " simulated tasks, seed " << flags.seed << ": " << economy.bad_segments
              << " bad segments, " << economy.caught
              << " solvers caught\nrole      strategy        agents   jobs  lost  "
              << "profit of each agent\n";
    for (const auto* side : {&economy.solvers, &economy.verifiers, &economy.rings})
        for (const market::StrategyResult& r : *side) {
            const U256 each = U256(r.agents);
            std::cout << std::left << std::setw(10) << r.role << std::setw(16) << r.strategy << std::right
                      << std::setw(6) << r.agents << std::setw(7) << r.jobs << std::setw(6) << r.convictions << "  "
                      << std::setw(14) << coins(r.earned / each, r.spent / each) << '\n';
        }
    std::cout << "honest strategies earn most: " << (economy.honest_best() ? "yes" : "NO") << '\n';
}

int econ(const Program& program, const EconFlags& flags) {
    const auto chain = chain_params(flags);
    if (!chain) return fail(program, chain.error().message);
    const auto setting = setting_of(*chain, flags);
    if (!setting || flags.simulate > kTasksMax) {
        fail(program, setting ? "--simulate is at most 1000000 tasks" : setting.error().message);
        return kWrongUsage;
    }
    bool sound = market::faults(*setting).empty();
    std::optional<market::Economy> economy;
    if (flags.simulate != 0) {
        economy = market::simulate_economy(*setting, {flags.simulate, flags.seed});
        sound = sound && economy->honest_best() && economy->conserved;
    }
    if (program.json) {
        json::object out = report_json(*setting);
        if (economy) out["simulation"] = economy_json(*economy, flags);
        std::cout << json::serialize(out) << '\n';
    } else {
        print_report(*setting);
        if (economy) print_economy(*economy, flags);
    }
    return sound ? kDone : kFailed;
}

}  // namespace

void add_econ(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand(
        "econ", "Expected profit of cheating, auditing and honest work; exits with an error if cheating pays");
    auto flags = std::make_shared<EconFlags>();
    command->add_option("--genesis", flags->genesis, "Genesis file; else the built-in parameters");
    command->add_option("--set", flags->set,
                        "NAME=VALUE: another value of a genesis parameter; an unknown name lists them (repeatable)");
    command->add_option("--segments", flags->segments, "Segments of the task [100]");
    command->add_option("--price", flags->price, "Coins for a segment [the audit fee]");
    command->add_option("--stake", flags->stake, "Coins that the solver locks [the floor]");
    command->add_option("--audit-bp", flags->audit_bp, "Audit probability in hundredths of a per cent [500]");
    command->add_option("--auditors", flags->auditors, "Auditors of a segment [2]");
    command->add_option("--cost-bp", flags->cost_bp, "Cost of computing a segment as a share of its price [8000]");
    command->add_option("--verifiers", flags->verifiers, "Verifiers that share the audits [10]");
    command->add_option("--simulate", flags->simulate, "Also play so many tasks among honest and cheating agents");
    command->add_option("--seed", flags->seed, "Seed of the simulation [1]");
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return econ(program, *flags); }; });
}

}  // namespace retrace::node::cli
