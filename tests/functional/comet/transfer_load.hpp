// SPDX-License-Identifier: MIT
// Signed transfers that are sent to random nodes while a test disturbs them, and a list of those that were accepted.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ledger/tx/transaction.hpp"

namespace retrace::node {

/// Of the networks of these tests, which have the developers' accounts.
inline constexpr std::uint64_t kTestChainId = 9'001;

/// A transfer of one unit by a developer account, signed.
ledger::TxPtr signed_transfer(std::uint32_t account, std::uint64_t nonce);

/// Sends with every developer account in turn, whose nonces begin at 0, from a thread. What a node does not accept is
/// sent to another one.
class TransferLoad {
public:
    struct Accepted {
        Hash32 tx;
        std::size_t node;  ///< Which answered that it has it.
    };

    TransferLoad(std::vector<std::string> urls, std::uint32_t seed);
    ~TransferLoad();
    /// Returns what was accepted, in order. Once.
    std::vector<Accepted> stop();

private:
    void run();

    std::vector<std::string> urls_;
    std::mt19937 random_;
    std::vector<Accepted> accepted_;  // of the thread until it has ended
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace retrace::node
