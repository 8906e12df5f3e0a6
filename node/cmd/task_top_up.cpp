// SPDX-License-Identifier: MIT
// retrace task top-up
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/agents/top_up.hpp"
#include "node/cmd/task_options.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct TopUpFlags {
    SignerOptions signer;
    std::uint64_t task = 0;
    std::string ceiling;
    std::uint32_t auctions = 1;
};

int top_up(const Program& program, const TopUpFlags& flags) {
    std::optional<ledger::U256> ceiling;
    if (!flags.ceiling.empty()) {
        ceiling = parse_coins(flags.ceiling);
        if (!ceiling) throw CLI::ValidationError("--ceiling must be coins for a segment, like 0.5");
    }
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    const auto done = top_up_task((*session)->submitter, (*session)->at->chain, flags.task, ceiling, flags.auctions);
    if (!done) return fail(program, done.error().message);
    if (program.json) {
        std::cout << json::serialize(json::object{{"task", flags.task},
                                                  {"ceiling", done->ceiling.to_decimal()},
                                                  {"auctions", done->auctions},
                                                  {"escrow", done->amount.to_decimal()},
                                                  {"rent", done->rent.to_decimal()}})
                  << '\n';
        return kDone;
    }
    std::cout << describe_coins(done->amount) << " more in escrow: from its next auction on task " << flags.task
              << " pays at most " << describe_coins(done->ceiling) << " a segment, and " << done->auctions
              << (done->auctions == 1 ? " auction" : " auctions") << " may follow ones without winners\n";
    if (!done->rent.is_zero())
        std::cout << describe_coins(done->rent) << " more for its place, so that these auctions can begin\n";
    return kDone;
}

}  // namespace

void add_task_top_up(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("top-up", "Raise the price ceiling of an open task, with more auctions");
    auto flags = std::make_shared<TopUpFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    command->add_option("--ceiling", flags->ceiling,
                        "Coins for a segment, at most, from the next auction on; default: as it is");
    command->add_option("--auctions", flags->auctions, "Auctions that may follow ones without winners (1)");
    flags->signer.add_to(*command);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return top_up(program, *flags); }; });
}

}  // namespace retrace::node::cli
