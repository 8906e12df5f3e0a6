// SPDX-License-Identifier: MIT
#include "tests/bench/ledger/transfer_load.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "ledger/tx/tx_codec.hpp"
#include "tests/bench/ledger/bench_node.hpp"

namespace retrace::bench {
namespace {

constexpr std::size_t kRecipients = 10'000;
constexpr std::size_t kUnanswered = 20'000;  // transfers sent but not in a block; the pool takes 65,536

/// Follows the chain on a separate connection and records when each transfer was first seen in a block.
class Follower {
public:
    Follower(const Endpoint& node, const Prepared& prepared)
        : connection_(node), prepared_(prepared), seen_(prepared.index.size()), next_(height() + 1) {}

    void run(const std::atomic<bool>& stop) {
        while (!stop) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const std::uint64_t tip = height();
            while (next_ <= tip) take(next_++);
        }
    }

    std::size_t included() const noexcept { return included_; }
    /// Time at which transfer `number` was in a block; the epoch if it never was.
    Clock::time_point seen(std::size_t number) const { return seen_[number]; }

private:
    std::uint64_t height() {
        const auto body =
            connection_.exchange(http_request(R"({"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]})"));
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
    std::uint64_t next_;  // next block to read
};

}  // namespace

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

Prepared prepare(const std::vector<ledger::SecretKey>& keys, std::size_t batches, std::size_t batch) {
    Prepared out;
    out.batch = batch;
    out.requests.resize(batches);
    std::vector<std::vector<std::uint64_t>> hashes(batches);
    const auto work = [&](std::size_t first) {
        for (std::size_t b = first; b < batches; b += 2) {
            std::string body = "[";
            for (std::size_t i = 0; i < batch; ++i) {
                const std::size_t number = b * batch + i;
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
        for (std::size_t i = 0; i < batch; ++i) {
            out.index.emplace(hashes[b][i], static_cast<std::uint32_t>(b * batch + i));
        }
    }
    return out;
}

Outcome offer(const std::vector<Endpoint>& nodes, const Prepared& prepared, const Offer& what) {
    std::vector<Connection> connections;
    for (std::size_t i = 0; i < kConnections; ++i) connections.emplace_back(nodes[i % nodes.size()]);
    Follower follower(nodes.front(), prepared);
    std::atomic<bool> stop = false;
    std::thread following([&] { follower.run(stop); });

    Outcome out;
    const Clock::time_point start = Clock::now();
    std::vector<Clock::time_point> due(prepared.requests.size());
    std::vector<std::size_t> round(kConnections, 0);
    Load load;
    load.next = [&](std::size_t c) -> std::string_view {
        const std::size_t batch = what.first + round[c] * kConnections + c;
        if (batch >= what.end) return {};
        // Unsent transfers stay due: an overflowing pool would create nonce gaps.
        if (out.sent > follower.included() + kUnanswered) return {};
        const Clock::time_point now = Clock::now();
        due[batch] = now;
        if (what.rate > 0) {
            const double when = static_cast<double>((batch - what.first) * prepared.batch) / what.rate;
            due[batch] = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(when));
            if (now < due[batch]) return {};
        }
        ++round[c];
        out.sent += prepared.batch;
        return prepared.requests[batch];
    };
    load.done = [&](std::size_t, std::string_view body, Clock::time_point) {
        for (std::size_t at = body.find(R"("error")"); at != std::string_view::npos;
             at = body.find(R"("error")", at + 1)) {
            if (out.refused++ == 0) std::fprintf(stderr, "refused: %.200s\n", body.substr(at).data());
        }
    };
    load.finished = [&] { return out.sent == (what.end - what.first) * prepared.batch; };
    run_load(connections, load, start + std::chrono::milliseconds(static_cast<long>(what.seconds * 1000)));
    const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
    while (follower.included() + out.refused < out.sent && Clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    stop = true;
    following.join();
    Clock::time_point last = start;
    for (std::size_t batch = what.first; batch < what.end; ++batch) {
        for (std::size_t i = 0; i < prepared.batch && due[batch] != Clock::time_point{}; ++i) {
            const Clock::time_point seen = follower.seen(batch * prepared.batch + i);
            if (seen == Clock::time_point{}) continue;
            last = std::max(last, seen);
            out.inclusions.push_back(std::chrono::duration<double>(seen - due[batch]).count());
        }
    }
    out.seconds = std::chrono::duration<double>(last - start).count();
    return out;
}

}  // namespace retrace::bench
