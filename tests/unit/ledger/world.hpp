// SPDX-License-Identifier: MIT
// A fixture for tests of the ledger: funded keys, an executor with one contract, and a chain that takes lists of
// transactions.
#pragma once

#include <gtest/gtest.h>

#include "ledger/chain/chain.hpp"
#include "ledger/state/supply.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/unit/ledger/vectors.hpp"

namespace retrace::ledger::test {

class EmptyView final : public StateView {
public:
    Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

/// Returns an address with a number in its last bytes.
inline Address number(std::uint64_t n) {
    Address out;
    for (std::size_t i = 0; i < 8; ++i) out.bytes[19 - i] = static_cast<std::uint8_t>(n >> (8 * i));
    return out;
}

/// Returns the nth of a fixed sequence of keys.
inline SecretKey key(std::uint64_t n) {
    const Hash32 seed = merkle::sha256({retrace::view(std::string_view("test key")), view(number(n))});
    return *SecretKey::from_bytes(view(seed));
}

inline const Address kContract = number(0xc0);

/// An executor with one contract; the first byte of calldata selects the operation.
class FakeExecutor final : public TxExecutor {
public:
    bool is_contract(const Address& address) const override { return address == kContract; }
    std::uint64_t gas_of(const Address&, View) const override { return 1000; }
    bool is_awaited(const StateView&, std::uint64_t, const Call& call) const override {
        return !call.data.empty() && call.data[0] == 'a';
    }

    CallResult call(State& state, const BlockContext& block, const Call& call) const override {
        const State::Mark mark = state.mark();
        CallResult out;
        out.gas_used = std::min<std::uint64_t>(call.gas, 1000);
        const char op = call.data.empty() ? 'p' : static_cast<char>(call.data[0]);
        const View rest = call.data.empty() ? call.data : call.data.subspan(1);
        out.ok = call.gas >= 1000 && state.transfer(call.sender, call.to, call.value);
        if (op == 's') state.set_slot(kContract, rest.first(1), to_bytes(rest.subspan(1)));  // set a slot
        if (op == 'r') out.ok = false;                                                       // refuse
        if (op == 'l') out.logs.push_back({kContract, {to_hash32(rest.first(32))}, to_bytes(rest.subspan(32))});
        if (op == 'h') out.output = Bytes{static_cast<std::uint8_t>(block.height)};
        if (op == 'b') state.set_slot(kContract, bytes("broken"), bytes("yes"));  // break an invariant
        out.is_free = op == 'f' || op == 'r';                                     // 'r' is refused, so it is not
        if (op == 'g') out.ok = out.ok && call.gas >= 5000;  // needs a higher gas limit than it uses
        if (!out.ok) {
            state.revert(mark);
            out.logs.clear();
            out.output = bytes("refusal");
            out.revert_reason = "refused: as asked";
        }
        return out;
    }

    CallResult view_call(const StateView& view, const BlockContext& block, const Call& call) const override {
        State scratch(view);
        return this->call(scratch, block, call);
    }

    /// Counts blocks in a slot, so that empty blocks change the state too; every third block emits a log.
    std::vector<Log> begin_block(State& state, const BlockContext& block) const override {
        Bytes count = state.slot(kContract, bytes("blocks"));
        count.resize(8);
        store_u64(count.data(), load_u64(count.data()) + 1);
        state.set_slot(kContract, bytes("blocks"), count);
        if (block.height % 3 != 0) return {};
        return {{kContract, {merkle::sha256(bytes("third"))}, count}};
    }

    std::optional<std::string> broken_invariant(const StateView&, const State& after) const override {
        if (after.slot(kContract, bytes("broken")).empty()) return std::nullopt;
        return "nothing is broken";
    }
    CallResult refuse_broken(const Call&, const std::string& what) const override {
        return {false, bytes("broken"), 1000, {}, what};
    }

    void genesis(State& state, View config) const override {
        if (!config.empty()) state.set_slot(kContract, bytes("config"), to_bytes(config));
    }
};

inline Genesis make_genesis(std::uint64_t chain_id = 7298, int accounts = 4) {
    Genesis genesis;
    genesis.chain_id = chain_id;
    genesis.time_ns = 1'000'000'000'000;
    genesis.gas_limit = 30'000'000;
    for (int i = 0; i < accounts; ++i) {
        genesis.alloc[key(static_cast<std::uint64_t>(i)).address()] = *U256::from_decimal("1000000000000000000000");
    }
    genesis.contracts = bytes("config");
    return genesis;
}

inline Transaction transfer(std::uint64_t nonce, const Address& to, const U256& value) {
    Transaction tx;
    tx.chain_id = 7298;
    tx.nonce = nonce;
    tx.tip_cap = 1'000'000'000;
    tx.fee_cap = 10'000'000'000;
    tx.gas_limit = kTransferGas;
    tx.to = to;
    tx.value = value;
    return tx;
}

inline Transaction call(std::uint64_t nonce, Bytes data, const U256& value = 0) {
    Transaction tx = transfer(nonce, kContract, value);
    tx.gas_limit = 100'000;
    tx.data = std::move(data);
    return tx;
}

/// A chain that is extended by lists of transactions.
struct World {
    explicit World(Store& s, ChainOptions options = {}, Genesis g = make_genesis()) : store(s) {
        auto opened = Chain::open(store, g, executor, options);
        EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
        if (opened) chain = std::move(*opened);
    }

    Result<BlockOutcome, ChainFailure> execute(const std::vector<TxPtr>& txs, KnownTx known = {}) const {
        std::vector<View> raw;
        for (const TxPtr& tx : txs) raw.push_back(tx->raw);
        return chain->execute_block({.height = chain->height() + 1,
                                     .time_ns = chain->tip()->header.time_ns + 1'000'000'000,
                                     .proposer = number(0xbeef),
                                     .txs = raw,
                                     .known = std::move(known)});
    }

    std::shared_ptr<const Block> block(const std::vector<TxPtr>& txs) {
        auto outcome = execute(txs);
        EXPECT_TRUE(outcome);
        EXPECT_TRUE(chain->commit(*outcome));
        return outcome->block;
    }

    FakeExecutor executor;
    Store& store;
    std::unique_ptr<Chain> chain;
};

}  // namespace retrace::ledger::test
