// SPDX-License-Identifier: MIT
// The demo's closing table, from the facts that --json prints.
#include <iomanip>
#include <sstream>

#include "node/cmd/demo/demo.hpp"
#include "node/cmd/demo/figures.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

void add_balances(std::ostringstream& out, const json::object& balances) {
    out << std::left << std::setw(18) << "party" << std::right << std::setw(18) << "balance" << std::setw(14)
        << "bonded" << std::setw(14) << "slashed" << '\n';
    for (const auto& [name, value] : balances) {
        const json::object& entry = value.as_object();
        out << std::left << std::setw(18) << std::string(name) << std::right << std::setw(18)
            << coins_of(entry.at("balance")) << std::setw(14) << coins_of(entry.at("bonded")) << std::setw(14)
            << coins_of(entry.at("slashed")) << '\n';
    }
}

void add_conviction(std::ostringstream& out, const json::object& cheater) {
    if (!cheater.contains("op")) return;
    out << "found        segment " << cheater.at("segment") << ", step " << cheater.at("step") << ", op "
        << cheater.at("op") << ", tile " << cheater.at("tile") << ", link " << cheater.at("link") << ", element "
        << cheater.at("element") << '\n';
    if (cheater.at("ending") == "referee_solver_wrong") {
        out << "bits         claimed " << bits_of(cheater.at("claimed_bits")) << ", the ledger computed "
            << bits_of(cheater.at("referee_bits")) << '\n';
    }
}

}  // namespace

std::string demo_table(const json::object& facts) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(2);
    out << "\nfraud        " << facts.at("cheat").as_string().c_str() << "\noutcome      "
        << facts.at("outcome").as_string().c_str() << "\naccuracy     " << 100 * facts.at("model_accuracy").as_double()
        << " % of the test images\n"
        << "audits       " << facts.at("audits") << " drawn, " << facts.at("verdicts_equal")
        << " verdicts equal to the last bit\n";
    if (const json::value* cheater = facts.if_contains("cheater")) add_conviction(out, cheater->as_object());
    if (const json::value* dispute = facts.if_contains("dispute")) {
        const json::object& d = dispute->as_object();
        out << "dispute      " << d.at("rounds") << " rounds, " << d.at("evidence_bytes") << " bytes of evidence";
        if (d.at("referee_us").is_double()) out << ", " << d.at("referee_us").as_double() << " us for the referee";
        out << '\n';
    }
    out << '\n';
    add_balances(out, facts.at("balances").as_object());
    out << "\npaid for the last task:\n";
    for (const auto& [name, value] : facts.at("paid").as_object()) {
        out << "  " << std::string(name) << ": " << value.at("segments") << " segments, "
            << coins_of(value.at("amount")) << '\n';
    }
    out << "burned " << coins_of(facts.at("burned")) << " of " << coins_of(facts.at("minted"))
        << "; balances and burned sum to the supply: " << (facts.at("supply_conserved").as_bool() ? "yes" : "NO")
        << "\n"
        << "took " << facts.at("seconds").as_double() << " s\n";
    return out.str();
}

}  // namespace retrace::node
