// SPDX-License-Identifier: MIT
// A network of validators: the folders that its operators take home, and all of them on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "merkle/base/result.hpp"
#include "node/platform/process.hpp"

namespace retrace::node {

struct TestnetPlan {
    std::filesystem::path folder;  ///< Must not exist, or be empty.
    std::uint32_t validators = 4;  ///< 1 to 100.
    std::uint64_t block_ms = 1000;
    bool embedded = false;  ///< The one validator decides alone, without CometBFT.
    /// Host of each validator, for the others. Empty: 127.0.0.1, 127.0.0.2, …, a network on one machine.
    std::vector<std::string> hosts;
    std::uint16_t p2p_port = 26656, rpc_port = 8545;
    /// JSON file with all of a genesis but its validators. Empty: the accounts of a developer chain, whose keys are
    /// published; only for a network on one machine.
    std::string genesis;
    /// Account of each validator, which receives its tips. Empty, without `genesis`: the developer accounts.
    std::vector<std::string> accounts;
};

struct Testnet {
    std::string genesis_hash;
    std::string chain;                           ///< CometBFT 0.38's name of it; with 0.40, "-40" follows.
    std::vector<std::filesystem::path> folders;  ///< One for each validator.
    std::vector<std::string> rpc;                ///< URL of each node; empty entries for other machines.
};

/// Makes `folder`/node0, node1, …: each has `genesis.json`, the same for all, `retrace.toml` and the keys of one
/// validator below `data`. The folders are complete, or there is none of them.
Result<Testnet> init_testnet(const TestnetPlan& plan);

/// The nodes of a testnet on this machine, as child processes of this one.
class TestnetProcesses {
public:
    /// Starts all nodes and waits until they answer, at most `timeout`.
    static Result<TestnetProcesses> start(const std::filesystem::path& folder, const std::filesystem::path& program,
                                          std::chrono::seconds timeout);

    const std::vector<std::string>& urls() const noexcept { return urls_; }
    std::size_t size() const noexcept { return urls_.size(); }
    Process& node(std::size_t i) { return nodes_.at(i); }
    /// Starts a node that was stopped or killed. Does not wait for its answer.
    Status<> restart(std::size_t i);
    /// Waits until the node answers.
    Status<> await(std::size_t i, std::chrono::seconds timeout);
    /// The first node that has ended, with its log; empty if all run.
    std::string ended();

private:
    std::filesystem::path folder_, program_;
    std::vector<std::string> urls_;
    std::vector<Process> nodes_;
};

}  // namespace retrace::node
