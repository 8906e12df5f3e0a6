// SPDX-License-Identifier: MIT
// A fixture with a mempool and a small chain.
#pragma once

#include "ledger/mempool/mempool.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger::test {

inline constexpr std::uint64_t kGasLimit = 30'000'000;
inline const U256 kBaseFee = 1'000'000'000;

struct Pool : testing::Test {
    Pool() : world(store), pool(world.executor) {}

    Result<Added, TxRefusal> add(const TxPtr& tx) { return pool.add(tx, *world.chain->view(), kBaseFee, kGasLimit); }
    std::string refusal(const TxPtr& tx) {
        const auto added = add(tx);
        return added ? "" : added.error().message;
    }
    static TxPtr make(std::uint64_t who, std::uint64_t nonce, std::uint64_t tip = 1'000'000'000) {
        Transaction tx = transfer(nonce, number(9), 1);
        tx.tip_cap = tip;
        tx.fee_cap = 10 * tip + 10'000'000'000;
        return sign_tx(tx, key(who));
    }
    std::vector<TxPtr> ready(std::size_t bytes = 1 << 20, std::uint64_t gas = kGasLimit) {
        return pool.ready(*world.chain->view(), kBaseFee, bytes, gas);
    }
    PoolChange on_block(const Block& block) {
        return pool.on_block(block, *world.chain->view(), world.chain->next_base_fee());
    }
    std::uint64_t pending(std::uint64_t who) { return pool.pending_nonce(key(who).address(), *world.chain->view()); }

    MemoryStore store;
    World world;
    Mempool pool;
};

}  // namespace retrace::ledger::test
