// SPDX-License-Identifier: MIT
// The closing table of the demo in rounds, from the facts that --json prints.
#include <iomanip>
#include <sstream>

#include "node/cmd/demo/figures.hpp"
#include "node/cmd/demo/rounds_demo.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

void add_cheater_lines(std::ostringstream& out, const json::object& cheater) {
    if (cheater.contains("op")) {
        out << "found        round " << cheater.at("round") << ", segment " << cheater.at("segment") << ", position "
            << cheater.at("position") << ", op " << cheater.at("op") << ", tile " << cheater.at("tile") << ", link "
            << cheater.at("link") << ", element " << cheater.at("element") << '\n';
        if (cheater.at("ending") == "referee_solver_wrong")
            out << "bits         claimed " << bits_of(cheater.at("claimed_bits")) << ", the ledger computed "
                << bits_of(cheater.at("referee_bits")) << '\n';
    }
    out << "slashed      " << coins_of(cheater.at("slashed")) << '\n';
}

void add_member_lines(std::ostringstream& out, const json::array& members) {
    out << "\nrun  party             state        from  messages  recorded          earned\n";
    for (const json::value& value : members) {
        const json::object& member = value.as_object();
        out << std::right << std::setw(3) << member.at("run").to_number<std::uint64_t>() << "  " << std::left
            << std::setw(18) << member.at("name").as_string().c_str() << std::setw(12)
            << member.at("state").as_string().c_str() << std::right << std::setw(5)
            << member.at("entered").to_number<std::uint64_t>() << std::setw(10)
            << member.at("messages").to_number<std::uint64_t>() << std::setw(10)
            << member.at("recorded").to_number<std::uint64_t>() << std::setw(16) << coins_of(member.at("earned"))
            << '\n';
    }
}

}  // namespace

std::string rounds_demo_table(const json::object& facts) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(2) << "\nfraud        " << facts.at("cheat").as_string().c_str()
        << "\noutcome      " << facts.at("outcome").as_string().c_str() << "\naccuracy     "
        << 100 * facts.at("model_accuracy").as_double() << " % of the test images, one machine "
        << 100 * facts.at("one_machine_accuracy").as_double() << " %\nmessages     " << facts.at("message_bytes")
        << " bytes a round and member, " << facts.at("message_ratio").as_double()
        << " times less than fp32\naudits       " << facts.at("audits") << " drawn, " << facts.at("verdicts_equal")
        << " verdicts equal to the last bit\n";
    if (const json::value* cheater = facts.if_contains("cheater")) add_cheater_lines(out, cheater->as_object());
    add_member_lines(out, facts.at("paid").as_array());
    out << "\nburned " << coins_of(facts.at("burned")) << " of " << coins_of(facts.at("minted"))
        << "; balances and burned sum to the supply: " << (facts.at("supply_conserved").as_bool() ? "yes" : "NO")
        << "\ntook " << facts.at("seconds").as_double() << " s\n";
    return out.str();
}

}  // namespace retrace::node
