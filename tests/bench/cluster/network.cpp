// SPDX-License-Identifier: MIT
#include "tests/bench/cluster/network.hpp"

#include <fstream>
#include <stdexcept>

#include "node/rpc_client/rpc_client.hpp"

namespace retrace::bench {
namespace {

constexpr std::chrono::seconds kStartTime{60};

template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(result).value();
}

}  // namespace

Network::Network(std::uint32_t validators, std::chrono::milliseconds block_interval,
                 const std::vector<ledger::SecretKey>& rich)
    : p2p_(free_port()), rpc_(free_port()) {
    std::vector<ledger::Address> accounts;
    for (const auto& key : rich) accounts.push_back(key.address());
    node::TestnetPlan plan;
    plan.folder = folder_.path() / "network";
    plan.validators = validators;
    plan.block_ms = static_cast<std::uint64_t>(block_interval.count());
    plan.p2p_port = p2p_;
    plan.rpc_port = rpc_;
    plan.genesis = write_genesis(folder_.path(), accounts).string();
    for (std::uint32_t i = 0; i < validators; ++i) {
        plan.accounts.push_back(ledger::to_0x(plain_account(1'000'000 + i)));
        nodes_.push_back({rpc_, 0x7f000001 + i});
    }
    must(node::init_testnet(plan));
    processes_.emplace(must(node::TestnetProcesses::start(plan.folder, RETRACE_PROGRAM, kStartTime)));
}

std::filesystem::path Network::folder_of(std::size_t node) const {
    return folder_.path() / "network" / ("node" + std::to_string(node));
}

std::uint64_t Network::height(std::size_t node) const { return height_at(processes_->urls().at(node)); }

void Network::set_interval(std::size_t node, std::chrono::milliseconds interval) {
    processes_->node(node).stop();
    const std::filesystem::path path = folder_of(node) / "retrace.toml";
    std::ifstream in(path);
    std::string text, line;
    while (std::getline(in, line))
        text += (line.starts_with("block_ms = ") ? "block_ms = " + std::to_string(interval.count()) : line) + "\n";
    std::ofstream(path) << text;
    if (!processes_->restart(node) || !processes_->await(node, kStartTime))
        throw std::runtime_error("a validator does not come back");
}

std::uint64_t height_at(const std::string& url) {
    auto client = node::RpcClient::connect(url);
    return client ? client->height().value_or(0) : 0;
}

}  // namespace retrace::bench
