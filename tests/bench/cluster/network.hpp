// SPDX-License-Identifier: MIT
// Validators on 127.0.0.1, 127.0.0.2, … as `retrace testnet` makes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "ledger/crypto/secp256k1.hpp"
#include "node/cmd/testnet/testnet.hpp"
#include "tests/bench/ledger/bench_node.hpp"
#include "tests/bench/ledger/load.hpp"

namespace retrace::bench {

class Network {
public:
    /// Makes and starts the network; the accounts of `rich` have coins. Throws std::runtime_error.
    Network(std::uint32_t validators, std::chrono::milliseconds block_interval,
            const std::vector<ledger::SecretKey>& rich);

    const std::vector<Endpoint>& nodes() const noexcept { return nodes_; }
    const std::vector<std::string>& urls() const { return processes_->urls(); }
    std::uint16_t rpc_port() const noexcept { return rpc_; }
    std::uint16_t p2p_port() const noexcept { return p2p_; }
    std::filesystem::path folder_of(std::size_t node) const;
    std::uint64_t height(std::size_t node) const;
    /// Restarts a validator with another block interval.
    void set_interval(std::size_t node, std::chrono::milliseconds interval);

private:
    Folder folder_;
    std::uint16_t p2p_ = 0, rpc_ = 0;
    std::vector<Endpoint> nodes_;
    std::optional<node::TestnetProcesses> processes_;
};

/// Height of the node at this URL; 0: it does not answer.
std::uint64_t height_at(const std::string& url);

}  // namespace retrace::bench
