// SPDX-License-Identifier: MIT
// Checks the signatures of a block's transactions in parallel: the one costly part that does not depend on order.
#include <algorithm>
#include <atomic>
#include <thread>

#include "ledger/chain/execute.hpp"
#include "ledger/crypto/keccak.hpp"

namespace retrace::ledger {
namespace {

BlockTx read_one(View raw, const KnownTx& known, std::uint64_t chain_id) {
    BlockTx out;
    out.hash = keccak256(raw);
    if (known) out.tx = known(out.hash);
    // Equal hashes mean equal bytes, but a cache for another chain would still be wrong.
    if (out.tx && out.tx->tx.chain_id == chain_id) return out;
    auto read = read_tx(raw, chain_id);
    out.tx = read ? std::move(*read) : nullptr;
    if (!out.tx) out.raw = to_bytes(raw);
    return out;
}

}  // namespace

std::vector<BlockTx> read_txs(const BlockInput& input, std::uint64_t chain_id, unsigned threads) {
    constexpr std::size_t kChunk = 32;  // about 2 ms of work: worth a thread, small enough to share evenly
    std::vector<BlockTx> out(input.txs.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t first = next.fetch_add(kChunk); first < out.size(); first = next.fetch_add(kChunk)) {
            const std::size_t last = std::min(first + kChunk, out.size());
            for (std::size_t i = first; i < last; ++i) out[i] = read_one(input.txs[i], input.known, chain_id);
        }
    };
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t helpers = std::min<std::size_t>(threads, (out.size() + kChunk - 1) / kChunk);
    std::vector<std::thread> pool;
    for (std::size_t i = 1; i < helpers; ++i) pool.emplace_back(work);
    work();
    for (std::thread& thread : pool) thread.join();
    return out;
}

}  // namespace retrace::ledger
