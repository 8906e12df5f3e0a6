// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "ledger/tx/transaction.hpp"
#include "ledger/tx/tx_codec.hpp"
#include "tests/bench/ledger/bench_node.hpp"
#include "tests/bench/ledger/load.hpp"
#include "tests/bench/ledger/measurements.hpp"

namespace retrace::bench {
namespace {

constexpr std::size_t kSenders = 1600;  // a multiple of kBatch * kConnections, see `prepare`
constexpr std::size_t kRecipients = 10'000;
constexpr std::size_t kBatch = 100;  // what ethers puts in one request at most
constexpr std::size_t kConnections = 8;
constexpr std::size_t kUnanswered = 20'000;  // transfers sent and in no block; the pool takes 65,536

/// Transactions in the order in which they are sent, and where each stands.
struct Prepared {
    std::vector<std::string> requests;                       // of kBatch transactions each
    std::unordered_map<std::uint64_t, std::uint32_t> index;  // first bytes of the hash → number
};

ledger::TxPtr transfer(const ledger::SecretKey& from, std::uint64_t nonce, std::uint64_t to) {
    ledger::Transaction tx;
    tx.type = ledger::TxType::dynamic_fee;
    tx.chain_id = kChainId;
    tx.nonce = nonce;
    tx.tip_cap = ledger::U256{1};
    tx.fee_cap = ledger::U256{2'000'000'000};
    tx.gas_limit = ledger::kTransferGas;
    tx.to = plain_account(to % kRecipients);
    tx.value = ledger::U256{1 + to};
    return ledger::sign_tx(std::move(tx), from);
}

/// All of a sender's transfers go through one connection, so that they arrive in the order of their nonces.
Prepared prepare(const std::vector<ledger::SecretKey>& keys, std::size_t batches) {
    Prepared out;
    out.requests.resize(batches);
    std::vector<std::vector<std::uint64_t>> hashes(batches);
    const auto work = [&](std::size_t first) {
        for (std::size_t b = first; b < batches; b += 2) {
            std::string body = "[";
            for (std::size_t i = 0; i < kBatch; ++i) {
                const std::size_t number = b * kBatch + i;
                const auto tx = transfer(keys[number % kSenders], number / kSenders, number);
                hashes[b].push_back(load_u64(tx->hash.data()));
                body += (i == 0 ? "" : ",");
                body += R"({"jsonrpc":"2.0","id":)" + std::to_string(number) +
                        R"(,"method":"eth_sendRawTransaction","params":[")" + to_0x(tx->raw) + R"("]})";
            }
            out.requests[b] = http_request(body + "]");
        }
    };
    std::thread second(work, 1);
    work(0);
    second.join();
    for (std::size_t b = 0; b < batches; ++b) {
        for (std::size_t i = 0; i < kBatch; ++i) {
            out.index.emplace(hashes[b][i], static_cast<std::uint32_t>(b * kBatch + i));
        }
    }
    return out;
}

/// Follows the chain on a connection of its own and notes when each transfer was first seen in a block.
class Follower {
public:
    Follower(std::uint16_t port, const Prepared& prepared)
        : connection_(port), prepared_(prepared), seen_(prepared.index.size()) {}

    void run(const std::atomic<bool>& stop) {
        while (!stop) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const std::uint64_t tip = height();
            while (next_ <= tip) take(next_++);
        }
    }

    std::size_t included() const noexcept { return included_; }
    /// When transfer `number` was in a block; the epoch when it never was.
    Clock::time_point seen(std::size_t number) const { return seen_[number]; }
    std::uint64_t blocks() const noexcept { return next_ - 1; }

private:
    std::uint64_t height() {
        const auto body = connection_.exchange(
            http_request(R"({"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]})"));
        const std::size_t at = body.find(R"("result":"0x)");
        if (at == std::string_view::npos) throw std::runtime_error("eth_blockNumber failed");
        return std::stoull(std::string(body.substr(at + 12, 16)), nullptr, 16);
    }

    void take(std::uint64_t height) {
        char ask[128];
        std::snprintf(ask, sizeof ask,
                      R"({"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x%llx",false]})",
                      static_cast<unsigned long long>(height));
        std::string_view body = connection_.exchange(http_request(ask));
        const Clock::time_point now = Clock::now();
        const std::size_t list = body.find(R"("transactions":[)");
        if (list == std::string_view::npos) throw std::runtime_error("a block without transactions");
        body.remove_prefix(list + 16);
        body = body.substr(0, body.find(']'));
        for (std::size_t at = body.find("0x"); at != std::string_view::npos; at = body.find("0x", at + 66)) {
            const auto first = from_hex(body.substr(at + 2, 16));
            const auto found = prepared_.index.find(load_u64(first->data()));
            if (found == prepared_.index.end()) continue;
            seen_[found->second] = now;
            ++included_;
        }
    }

    Connection connection_;
    const Prepared& prepared_;
    std::vector<Clock::time_point> seen_;
    std::atomic<std::size_t> included_{0};
    std::uint64_t next_ = 1;
};

struct Outcome {
    std::size_t sent = 0;
    std::size_t refused = 0;
    double seconds = 0;              // from the first request to the last block that holds a transfer
    std::vector<double> inclusions;  // seconds from when a transfer was due to its block
};

Outcome offer(const Options& options, std::uint16_t port, const Prepared& prepared) {
    std::vector<Connection> connections;
    for (std::size_t i = 0; i < kConnections; ++i) connections.emplace_back(port);
    Follower follower(port, prepared);
    std::atomic<bool> stop = false;
    std::thread following([&] { follower.run(stop); });

    Outcome out;
    const Clock::time_point start = Clock::now();
    std::vector<Clock::time_point> due(prepared.requests.size());
    std::vector<std::size_t> round(kConnections, 0);
    Load load;
    load.next = [&](std::size_t c) -> std::string_view {
        const std::size_t batch = round[c] * kConnections + c;
        if (batch >= prepared.requests.size()) return {};
        // What is not taken yet stays due: a pool that overflows would tear holes between nonces.
        if (out.sent > follower.included() + kUnanswered) return {};
        const Clock::time_point now = Clock::now();
        due[batch] = now;
        if (options.rate > 0) {
            const double when = static_cast<double>(batch * kBatch) / options.rate;
            due[batch] =
                start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(when));
            if (now < due[batch]) return {};
        }
        ++round[c];
        out.sent += kBatch;
        return prepared.requests[batch];
    };
    load.done = [&](std::size_t, std::string_view body, Clock::time_point) {
        for (std::size_t at = body.find(R"("error")"); at != std::string_view::npos;
             at = body.find(R"("error")", at + 1)) {
            if (out.refused++ == 0) std::fprintf(stderr, "refused: %.200s\n", body.substr(at).data());
        }
    };
    run_load(connections, load, start + std::chrono::milliseconds(static_cast<long>(options.seconds * 1000)));
    const Clock::time_point patience = Clock::now() + std::chrono::seconds(30);
    while (follower.included() + out.refused < out.sent && Clock::now() < patience) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    stop = true;
    following.join();
    Clock::time_point last = start;
    for (std::size_t batch = 0; batch < prepared.requests.size(); ++batch) {
        for (std::size_t i = 0; i < kBatch && due[batch] != Clock::time_point{}; ++i) {
            const Clock::time_point seen = follower.seen(batch * kBatch + i);
            if (seen == Clock::time_point{}) continue;
            last = std::max(last, seen);
            out.inclusions.push_back(std::chrono::duration<double>(seen - due[batch]).count());
        }
    }
    out.seconds = std::chrono::duration<double>(last - start).count();
    return out;
}

}  // namespace

double recoveries_per_second() {
    const auto keys = make_keys(1);
    const Bytes raw = transfer(keys[0], 0, 0)->raw;
    const auto decoded = ledger::decode_tx(raw);
    const Hash32 digest = ledger::signing_hash(decoded->tx);
    double best = 0;
    for (int round = 0; round < 5; ++round) {  // the best: other processes only ever take time away
        constexpr int kCount = 2000;
        const auto start = Clock::now();
        for (int i = 0; i < kCount; ++i) {
            if (!ledger::recover(digest, decoded->signature)) throw std::runtime_error("recovery failed");
        }
        best = std::max(best, kCount / seconds_since(start));
    }
    return best;
}

std::vector<Row> measure_transfers(const Options& options) {
    const double most = options.rate > 0 ? options.rate : 40'000;
    const auto batches = static_cast<std::size_t>(most * options.seconds / kBatch) + 1;
    std::fprintf(stderr, "transfers: signing %zu\n", batches * kBatch);
    const auto keys = make_keys(kSenders);
    const Prepared prepared = prepare(keys, batches);
    const Folder folder;
    std::vector<ledger::Address> rich;
    for (const auto& key : keys) rich.push_back(key.address());
    const auto genesis = write_genesis(folder.path(), rich);
    const BenchNode node(folder.path(), {"--genesis", genesis.string()});
    std::fprintf(stderr, "transfers: %.0f seconds, %s\n", options.seconds,
                 options.rate > 0
                     ? (std::to_string(static_cast<int>(options.rate)) + " offered per second").c_str()
                     : "as many as the node takes");
    const double cpu_before = node.cpu_seconds();
    const Outcome outcome = offer(options, node.port(), prepared);
    std::fprintf(
        stderr, "transfers: %zu sent, %zu refused, %zu in blocks after %.2f s, node holds %.0f MiB\n",
        outcome.sent, outcome.refused, outcome.inclusions.size(), outcome.seconds, node.resident_mib());
    if (outcome.inclusions.size() + outcome.refused != outcome.sent) {
        throw std::runtime_error("the node lost transfers");
    }
    const double recoveries = recoveries_per_second();
    const double rate = static_cast<double>(outcome.inclusions.size()) / outcome.seconds;
    const double cpu_us = 1e6 * (node.cpu_seconds() - cpu_before) / static_cast<double>(outcome.sent);
    return {{"transfers", "1/s", "floor", rate, 8000},
            {"transfers_of_recovery", "1/s", "signature recoveries, one core", rate, recoveries},
            {"transfer_inclusion_p50", "s", "limit of the 99th percentile",
             percentile(outcome.inclusions, 0.50), 2},
            {"transfer_inclusion_p99", "s", "limit", percentile(outcome.inclusions, 0.99), 2},
            {"transfer_cpu", "us", "one signature recovery", cpu_us, 1e6 / recoveries}};
}

}  // namespace retrace::bench
