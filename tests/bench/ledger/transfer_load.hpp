// SPDX-License-Identifier: MIT
// Signed transfers, prepared beforehand, sent to a node on a port and tracked until they are in a block.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger/crypto/secp256k1.hpp"
#include "ledger/tx/transaction.hpp"
#include "tests/bench/ledger/load.hpp"

namespace retrace::bench {

inline constexpr std::size_t kSenders = 1600;  // a multiple of kBatch * kConnections, see `prepare`
inline constexpr std::size_t kBatch = 100;     // the most that ethers puts in one request
inline constexpr std::size_t kConnections = 8;

/// Transactions in sending order, and the position of each.
struct Prepared {
    std::size_t batch = kBatch;  // transactions of a request
    std::vector<std::string> requests;
    std::unordered_map<std::uint64_t, std::uint32_t> index;  // first bytes of the hash → number
};

ledger::TxPtr transfer(const ledger::SecretKey& from, std::uint64_t nonce, std::uint64_t to);

/// Prepares `batches` requests of `batch` transactions each; kSenders is a multiple of batch * kConnections. All transfers of a sender go through one connection, so that they arrive in the order
/// of their nonces.
Prepared prepare(const std::vector<ledger::SecretKey>& keys, std::size_t batches, std::size_t batch = kBatch);

/// Selects the prepared requests to send, and their rate.
struct Offer {
    std::size_t first = 0, end = 0;  ///< Numbers of requests; `first` is a multiple of kConnections.
    double rate = 0;                 ///< Transfers per second; 0: as many as the node accepts.
    double seconds = 3600;           ///< Maximum duration; ends earlier when all are sent.
};

struct Outcome {
    std::size_t sent = 0;
    std::size_t refused = 0;
    double seconds = 0;              // from the first request to the last block that holds a transfer
    std::vector<double> inclusions;  // seconds from when a transfer was due to its block
};

/// Sends to each of the nodes in turn, and looks for the transfers in blocks of the first.
Outcome offer(const std::vector<Endpoint>& nodes, const Prepared& prepared, const Offer& what);

}  // namespace retrace::bench
