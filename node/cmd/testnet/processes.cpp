// SPDX-License-Identifier: MIT
#include <thread>

#include "node/cmd/testnet/testnet.hpp"
#include "node/rpc_client/rpc_client.hpp"
#include "node/server/config/config.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& network, std::size_t i) { return network / ("node" + std::to_string(i)); }
fs::path log_of(const fs::path& network, std::size_t i) { return folder_of(network, i) / "node.log"; }

Result<Process> start_node(const fs::path& program, const fs::path& folder) {
    // The configuration names files of its folder; this process may have another one.
    return Process::start(program,
                          {"node", "--config", (folder / "retrace.toml").string(), "--data-dir",
                           (folder / "data").string(), "--genesis", (folder / "genesis.json").string()},
                          folder / "node.log");
}

}  // namespace

Result<TestnetProcesses> TestnetProcesses::start(const fs::path& folder, const fs::path& program,
                                                 std::chrono::seconds timeout) {
    TestnetProcesses network;
    network.folder_ = fs::absolute(folder);
    network.program_ = program;
    for (std::size_t i = 0; fs::exists(folder_of(network.folder_, i)); ++i) {
        Config config;
        RETRACE_CHECK(load_config((folder_of(network.folder_, i) / "retrace.toml").string(), config));
        if (!config.engine.private_network)
            return error(folder.string() +
                         " is of a network of several machines: run `retrace node --config "
                         "retrace.toml` in one folder on each");
        network.urls_.push_back("http://" + config.rpc.host + ":" + std::to_string(config.rpc.port));
    }
    if (network.urls_.empty()) return error(folder.string() + " has no folder node0; see `retrace testnet init`");
    for (std::size_t i = 0; i < network.size(); ++i) {
        RETRACE_TRY(node, start_node(program, folder_of(network.folder_, i)));
        network.nodes_.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < network.size(); ++i) RETRACE_CHECK(network.await(i, timeout));
    return network;
}

Status<> TestnetProcesses::restart(std::size_t i) {
    RETRACE_TRY(node, start_node(program_, folder_of(folder_, i)));
    nodes_.at(i) = std::move(node);
    return Unit{};
}

Status<> TestnetProcesses::await(std::size_t i, std::chrono::seconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < end && nodes_.at(i).running()) {
        auto client = RpcClient::connect(urls_.at(i));
        if (client && client->height()) return Unit{};
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return error("node " + std::to_string(i) + " does not answer; its log is " + log_of(folder_, i).string());
}

std::string TestnetProcesses::ended() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].running()) continue;
        return "node " + std::to_string(i) + " ended with exit status " + std::to_string(*nodes_[i].exit_status()) +
               "; its log is " + log_of(folder_, i).string();
    }
    return {};
}

}  // namespace retrace::node
