// SPDX-License-Identifier: MIT
// retrace testnet
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <ctime>
#include <iostream>

#include "node/cmd/cli.hpp"
#include "node/cmd/testnet/testnet.hpp"
#include "node/platform/log.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

int init(const Program& program, const TestnetPlan& plan) {
    const auto made = init_testnet(plan);
    if (!made) return fail(program, made.error().message);
    if (program.json) {
        json::array nodes;
        for (std::size_t i = 0; i < made->folders.size(); ++i) {
            json::object node{{"folder", made->folders[i].string()}};
            if (!made->rpc[i].empty()) node["rpc"] = made->rpc[i];
            nodes.push_back(std::move(node));
        }
        std::cout << json::serialize(json::object{
                         {"genesis_hash", made->genesis_hash}, {"chain", made->chain}, {"nodes", std::move(nodes)}})
                  << '\n';
        return kDone;
    }
    std::cout << "chain " << made->chain << ", genesis hash " << made->genesis_hash << '\n';
    for (const auto& folder : made->folders) std::cout << "  " << folder.string() << '\n';
    if (plan.hosts.empty()) {
        std::cout << "start all of it here: retrace testnet run " << plan.folder.string() << '\n';
    } else {
        std::cout
            << "give one folder to each operator, over a channel that keeps its keys secret, and delete it here;\n"
               "there: cd FOLDER && retrace node --config retrace.toml\n";
    }
    return kDone;
}

int run(const Program& program, const std::string& folder) {
    set_up_log("warn");
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    auto network = TestnetProcesses::start(folder, own_executable(), std::chrono::seconds(60));
    if (!network) return fail(program, network.error().message);
    if (program.json) {
        json::array nodes;
        for (const std::string& url : network->urls()) nodes.emplace_back(url);
        std::cout << json::serialize(json::object{{"rpc", std::move(nodes)}}) << std::endl;
    } else {
        for (const std::string& url : network->urls()) std::cout << "node at " << url << '\n';
        std::cout << "end with Ctrl-C" << std::endl;
    }
    const timespec pause{0, 500'000'000};
    for (;;) {
        if (::sigtimedwait(&signals, nullptr, &pause) > 0) return kDone;
        if (const std::string ended = network->ended(); !ended.empty()) return fail(program, ended);
    }
}

}  // namespace

void add_testnet(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("testnet", "A network of validators on CometBFT");
    command->require_subcommand(1);

    CLI::App* make = command->add_subcommand("init", "Make the folders of its validators");
    auto plan = std::make_shared<TestnetPlan>();
    make->add_option("DIR", plan->folder, "New folder")->required();
    make->add_option("--validators", plan->validators, "Number of validators (4)");
    make->add_option("--block-ms", plan->block_ms, "Milliseconds between blocks (1000)")
        ->check(CLI::Range(std::uint64_t{100}, std::uint64_t{3'600'000}));
    make->add_option_function<std::string>(
            "--engine", [plan](const std::string& kind) { plan->embedded = kind == "solo"; },
            "solo: the only validator decides alone, without CometBFT (comet)")
        ->check(CLI::IsMember({"solo", "comet"}));
    make->add_option("--host", plan->hosts,
                     "Host of one validator, in their order; without it all are on this machine");
    make->add_option("--p2p-port", plan->p2p_port, "Port for other nodes (26656)");
    make->add_option("--rpc-port", plan->rpc_port, "Port of JSON-RPC (8545)");
    make->add_option("--genesis", plan->genesis,
                     "Genesis without validators (developer accounts, on one machine only)");
    make->add_option("--account", plan->accounts, "Account that receives the tips of one validator, in their order");
    add_json(*make, program);
    make->callback([&program, plan] { program.run = [&program, plan] { return init(program, *plan); }; });

    CLI::App* start = command->add_subcommand("run", "Run all nodes of a network on this machine");
    auto folder = std::make_shared<std::string>();
    start->add_option("DIR", *folder, "Folder that `testnet init` made")->required();
    add_json(*start, program);
    start->callback([&program, folder] { program.run = [&program, folder] { return run(program, *folder); }; });
}

}  // namespace retrace::node::cli
