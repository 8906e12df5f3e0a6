// SPDX-License-Identifier: MIT
#include "ledger/chain/chain.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "ledger/chain/execute.hpp"
#include "ledger/chain/keys.hpp"
#include "ledger/chain/records.hpp"
#include "ledger/storage/rocks_store.hpp"
#include "merkle/tree/sparse_tree.hpp"
#include "tests/unit/ledger/temp_dir.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::bytes;
using test::call;
using test::key;
using test::make_genesis;
using test::number;
using test::transfer;
using test::World;

const U256 kEther = *U256::from_decimal("1000000000000000000");

TEST(Chain, GenesisFundsTheAllocations) {
    MemoryStore store;
    const World world(store);
    EXPECT_EQ(world.chain->height(), 0U);
    const auto view = world.chain->view();
    EXPECT_EQ(view->account(key(0).address()).balance, U256{1000} * kEther);
    EXPECT_EQ(minted(*view), U256{4000} * kEther);
    EXPECT_EQ(view->slot(test::kContract, bytes("config")), bytes("config"));
}

TEST(Chain, APlainTransferCostsExactly21000Gas) {
    MemoryStore store;
    World world(store);
    const U256 base_fee = world.chain->next_base_fee();
    const auto block = world.block({sign_tx(transfer(0, number(1), 5), key(0))});
    ASSERT_EQ(block->receipts.size(), 1U);
    const Receipt& receipt = block->receipts[0];
    EXPECT_TRUE(receipt.success);
    EXPECT_EQ(receipt.gas_used, 21'000U);
    EXPECT_EQ(receipt.effective_gas_price, base_fee + U256{1'000'000'000});
    const auto view = world.chain->view();
    EXPECT_EQ(view->account(number(1)).balance, U256{5});
    EXPECT_EQ(view->account(key(0).address()),
              (Account{1, U256{1000} * kEther - 5 - receipt.effective_gas_price * 21'000}));
    EXPECT_EQ(view->account(number(0xbeef)).balance, U256{1'000'000'000} * 21'000) << "the tip";
    EXPECT_EQ(burned(*view), base_fee * 21'000);
}

TEST(Chain, BalancesAndBurnedSumToTheSupply) {
    MemoryStore store;
    World world(store);
    for (std::uint64_t i = 0; i < 10; ++i) {
        world.block({sign_tx(transfer(i, key(1).address(), kEther), key(0)),
                     sign_tx(call(i, bytes(i % 2 ? "r" : "p"), 77), key(2))});
    }
    const auto view = world.chain->view();
    U256 sum = burned(*view);
    for (std::uint64_t i = 0; i < 4; ++i) sum += view->account(key(i).address()).balance;
    sum += view->account(number(0xbeef)).balance + view->account(test::kContract).balance;
    EXPECT_EQ(sum, minted(*view));
}

TEST(Chain, ARefusedCallTakesTheFeeAndTheNonceOnly) {
    MemoryStore store;
    World world(store);
    const auto block = world.block({sign_tx(call(0, bytes("r"), 50), key(0))});
    const Receipt& receipt = block->receipts[0];
    EXPECT_FALSE(receipt.success);
    EXPECT_EQ(receipt.output, bytes("refusal"));
    EXPECT_EQ(receipt.gas_used, 21'000U + 16 + 1000);
    const auto view = world.chain->view();
    EXPECT_EQ(view->account(test::kContract).balance, U256{});
    EXPECT_EQ(view->account(key(0).address()),
              (Account{1, U256{1000} * kEther - receipt.effective_gas_price * receipt.gas_used}));
}

/// 5.3.10
TEST(Chain, AFreeCallPaysItsTipOnly) {
    MemoryStore store;
    World world(store);
    const auto block = world.block({sign_tx(call(0, bytes("f")), key(0))});
    const Receipt& receipt = block->receipts[0];
    ASSERT_TRUE(receipt.success);
    EXPECT_EQ(receipt.gas_used, 21'000U + 16 + 1000);
    EXPECT_EQ(receipt.effective_gas_price, U256{1'000'000'000});
    EXPECT_EQ(block->header.gas_used, receipt.gas_used) << "it takes room like any other";
    const U256 tip = U256{1'000'000'000} * receipt.gas_used;
    const auto view = world.chain->view();
    EXPECT_EQ(view->account(key(0).address()), (Account{1, U256{1000} * kEther - tip}));
    EXPECT_EQ(view->account(number(0xbeef)).balance, tip);
    EXPECT_EQ(burned(*view), U256{});
}

TEST(Chain, NoAccessListIsFree) {
    MemoryStore store;
    World world(store);
    const U256 base_fee = world.chain->next_base_fee();
    Transaction padded = call(0, bytes("f"));
    padded.access_list = {{number(1), {}}, {number(2), {}}};
    const auto block = world.block({sign_tx(padded, key(0)), sign_tx(call(0, bytes("r")), key(1))});
    ASSERT_TRUE(block->receipts[0].success);
    for (const Receipt& receipt : block->receipts)
        EXPECT_EQ(receipt.effective_gas_price, base_fee + U256{1'000'000'000}) << "nor is a refusal";
    EXPECT_EQ(burned(*world.chain->view()), base_fee * block->header.gas_used);
}

TEST(Chain, WhatCannotPayIsInTheBlockAndChangesNothing) {
    MemoryStore store;
    World world(store);
    Transaction wrong_chain = transfer(0, number(1), 1);
    wrong_chain.chain_id = 1;
    Transaction creation = transfer(0, number(1), 1);
    creation.to.reset();
    Transaction cheap = transfer(0, number(1), 1);
    cheap.fee_cap = cheap.tip_cap = 1;
    Transaction hungry = transfer(0, number(1), 1);
    hungry.gas_limit = 30'000'001;
    std::vector<Transaction> bad{
        wrong_chain, creation, cheap, hungry, transfer(1, number(1), 1), transfer(0, number(1), U256{1000} * kEther)};
    std::vector<TxPtr> txs;
    for (const Transaction& tx : bad) txs.push_back(sign_tx(tx, key(0)));
    SignedTx garbage = *txs[0];
    garbage.raw = bytes("garbage");
    txs.push_back(std::make_shared<const SignedTx>(garbage));
    const auto block = world.block(txs);
    for (const Receipt& receipt : block->receipts) {
        EXPECT_FALSE(receipt.success);
        EXPECT_EQ(receipt.gas_used, 0U);
        EXPECT_FALSE(receipt.revert_reason.empty());
    }
    EXPECT_EQ(world.chain->view()->account(key(0).address()), (Account{0, U256{1000} * kEther}));
    EXPECT_EQ(block->receipts[1].revert_reason, "creation_not_supported: contract creation is not supported: no EVM");
    const auto record = world.chain->tx(world.chain->height(), 6);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->tx.tx, nullptr);
    EXPECT_EQ(record->tx.raw, bytes("garbage"));
}

TEST(Chain, ABlockHoldsNoMoreGasThanItsLimit) {
    MemoryStore store;
    Genesis genesis = make_genesis();
    genesis.gas_limit = 50'000;
    World world(store, {}, genesis);
    const auto block =
        world.block({sign_tx(transfer(0, number(1), 1), key(0)), sign_tx(transfer(1, number(1), 1), key(0)),
                     sign_tx(transfer(2, number(1), 1), key(0))});
    EXPECT_TRUE(block->receipts[1].success);
    EXPECT_EQ(block->receipts[2].revert_reason, "exceeds_block_gas: exceeds block gas limit");
    EXPECT_EQ(block->header.gas_used, 42'000U);
    EXPECT_EQ(block->receipts[1].cumulative_gas, 42'000U);
}

// Executing a block counts the gas that is used, as its proposer did when choosing transactions.
TEST(Chain, ABlockCountsTheGasThatIsUsedAndNotWhatLimitsPromise) {
    MemoryStore store;
    Genesis genesis = make_genesis();
    genesis.gas_limit = 75'000;
    World world(store, {}, genesis);
    std::vector<TxPtr> txs;
    for (std::uint64_t nonce = 0; nonce < 4; ++nonce) {
        Transaction tx = nonce < 2 ? transfer(nonce, number(1), 1) : call(nonce, bytes("p"));
        tx.gas_limit = 75'000;
        txs.push_back(sign_tx(tx, key(0)));
    }
    const auto block = world.block(txs);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(block->receipts[i].success) << block->receipts[i].revert_reason;
    EXPECT_EQ(block->header.gas_used, 21'000U + 21'000U + 22'016U);
    EXPECT_EQ(block->receipts[3].revert_reason, "exceeds_block_gas: exceeds block gas limit") << "10984 are left";
    Transaction hungry = transfer(3, number(1), 1);
    hungry.gas_limit = 75'001;
    EXPECT_EQ(world.block({sign_tx(hungry, key(0))})->receipts[0].gas_used, 0U) << "over the block's all the same";
}

// SPEC 4.3: flooding an idle chain is not free.
TEST(Chain, TheBaseFeeNeverFallsBelowThatOfGenesis) {
    MemoryStore store;
    World world(store);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(world.block({})->header.base_fee, make_genesis().base_fee);
    EXPECT_EQ(world.chain->next_base_fee(), make_genesis().base_fee);
    MemoryStore other;
    Genesis bare = make_genesis();
    bare.base_fee = 7;
    World falling(other, {}, bare);
    EXPECT_EQ(falling.block({})->header.base_fee, U256{7}) << "the bare rule begins at its end";
}

TEST(Chain, ExecutionIsRepeatableAndLeavesNothing) {
    MemoryStore store;
    World world(store);
    const std::vector<TxPtr> txs{sign_tx(transfer(0, number(1), 5), key(0)), sign_tx(call(0, bytes("sk1")), key(1))};
    const auto first = world.execute(txs);
    const auto second = world.execute(txs);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->block->hash, second->block->hash);
    EXPECT_EQ(world.chain->height(), 0U);
    EXPECT_TRUE(world.chain->view()->slot(test::kContract, bytes("k")).empty());
    ASSERT_TRUE(world.chain->commit(*second));
    EXPECT_FALSE(world.chain->commit(*first)) << "the same height twice";
    EXPECT_EQ(world.chain->view()->slot(test::kContract, bytes("k")), bytes("1"));
}

TEST(Chain, ResultDoesNotDependOnThreadsOrCaches) {
    std::vector<TxPtr> txs;
    for (std::uint64_t i = 0; i < 150; ++i) txs.push_back(sign_tx(transfer(i / 3, number(i), 1), key(i % 3)));
    std::optional<Hash32> hash;
    for (const unsigned threads : {1U, 2U, 7U}) {
        for (const bool cached : {false, true}) {
            MemoryStore store;
            World world(store, {.threads = threads});
            KnownTx known;
            if (cached) {
                known = [&](const Hash32& tx_hash) -> TxPtr {
                    for (const TxPtr& tx : txs) {
                        if (tx->hash == tx_hash) return tx;
                    }
                    return nullptr;
                };
            }
            const auto outcome = world.execute(txs, known);
            ASSERT_TRUE(outcome);
            if (!hash) hash = outcome->block->hash;
            EXPECT_EQ(outcome->block->hash, *hash) << threads << cached;
        }
    }
}

/// Root of a tree that is built at once from all accounts and slots in the store.
Hash32 rebuilt_root(const Store& store) {
    std::map<Hash32, std::optional<Hash32>> leaves;
    store.scan(bytes("a"), {}, 1000, [&](View key, View value) {
        leaves[account_leaf_key(address_of_bytes(key.subspan(1)))] = merkle::sha256(value);
        return true;
    });
    store.scan(bytes("s"), {}, 1000, [&](View key, View value) {
        leaves[slot_leaf_key(address_of_bytes(key.subspan(1, 20)), key.subspan(21))] = merkle::sha256(value);
        return true;
    });
    const merkle::MemoryNodeStore nodes;
    return merkle::SparseTree(nodes, Hash32{}).apply({leaves.begin(), leaves.end()}).value().root;
}

TEST(Chain, StateRootDoesNotDependOnHistory) {
    MemoryStore store;
    World world(store);
    EXPECT_EQ(world.chain->tip()->header.state_root, rebuilt_root(store));
    for (std::uint64_t i = 0; i < 40; ++i) {
        // Slots are created, changed and removed.
        Bytes data{'s', static_cast<std::uint8_t>(i % 7)};
        if (i % 3 != 0) data.push_back(static_cast<std::uint8_t>(i));
        const auto block =
            world.block({sign_tx(call(i, data), key(0)), sign_tx(transfer(i, number(i % 5), i), key(1))});
        ASSERT_EQ(block->header.state_root, rebuilt_root(store)) << "height " << i + 1;
    }
}

TEST(Chain, StateAtPastHeightsIsWhatItWas) {
    MemoryStore store;
    World world(store, {.state_window = 5});
    const Address to = number(0x77);
    const auto held = world.chain->view();
    for (std::uint64_t i = 0; i < 20; ++i) {
        world.block({sign_tx(transfer(i, to, 1), key(0)),
                     sign_tx(call(i, Bytes{'s', 'k', static_cast<std::uint8_t>(i + 1)}), key(1))});
    }
    EXPECT_EQ(world.chain->oldest_state(), 15U);
    for (std::uint64_t height = 15; height <= 20; ++height) {
        const auto view = world.chain->view_at(height);
        ASSERT_TRUE(view);
        EXPECT_EQ((*view)->account(to).balance, U256{height});
        EXPECT_EQ((*view)->slot(test::kContract, bytes("k")), Bytes{static_cast<std::uint8_t>(height)});
        EXPECT_EQ((*view)->account(key(0).address()).nonce, height);
    }
    EXPECT_EQ(world.chain->view_at(14).error().code, ChainError::not_kept);
    EXPECT_EQ(world.chain->view_at(21).error().code, ChainError::not_kept);
    std::size_t undo_records = 0;
    store.scan(bytes("u"), bytes("u"), 10'000, [&](View, View) { return ++undo_records, true; });
    EXPECT_EQ(undo_records, 5 * 7U) << "five heights of seven changes: old ones are gone";
}

TEST(Chain, ViewsHoldStillWhileBlocksAreCommitted) {
    MemoryStore store;
    World world(store);
    const Address to = number(0x77);
    std::atomic<bool> stop{false};
    std::atomic<int> reads{0};
    std::thread reader([&] {
        while (!stop) {
            const auto view = world.chain->view();
            const auto block = world.chain->tip();
            const U256 first = view->account(to).balance;
            for (int i = 0; i < 20; ++i) ASSERT_EQ(view->account(to).balance, first);
            ++reads;
        }
    });
    for (std::uint64_t i = 0; i < 300 || reads < 10; ++i) world.block({sign_tx(transfer(i, to, 1), key(0))});
    stop = true;
    reader.join();
    EXPECT_GT(reads, 0);
}

TEST(Chain, RefusesBlocksThatDoNotFollow) {
    MemoryStore store;
    World world(store);
    world.block({});
    const auto tip = world.chain->tip();
    const auto error_of = [&](std::uint64_t height, std::uint64_t time) {
        return world.chain->execute_block({.height = height, .time_ns = time, .proposer = {}, .txs = {}, .known = {}})
            .error()
            .code;
    };
    EXPECT_EQ(error_of(1, tip->header.time_ns + 1), ChainError::bad_block);
    EXPECT_EQ(error_of(3, tip->header.time_ns + 1), ChainError::bad_block);
    EXPECT_EQ(error_of(2, tip->header.time_ns), ChainError::bad_block);
}

TEST(Chain, RefusesDataOfAnotherChainOrVersion) {
    MemoryStore store;
    { World world(store); }
    test::FakeExecutor executor;
    const auto other = Chain::open(store, make_genesis(7299), executor);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ChainError::other_chain);
    Batch batch;
    constexpr std::uint8_t kNewer = kFormatVersion + 1;
    batch.put(keys::format(), {kNewer});
    ASSERT_TRUE(store.write(batch, true));
    const auto version = Chain::open(store, make_genesis(), executor);
    ASSERT_FALSE(version);
    EXPECT_EQ(version.error().code, ChainError::other_version);
    EXPECT_NE(version.error().message.find("format " + std::to_string(kNewer)), std::string::npos)
        << version.error().message;
    EXPECT_NE(version.error().message.find("snapshot"), std::string::npos) << "what to do";
    Batch earlier;  // before changes of the rules of base fees, of a block's gas, and of bids and replicas
    earlier.put(keys::format(), {3});
    ASSERT_TRUE(store.write(earlier, true));
    const auto old = Chain::open(store, make_genesis(), executor);
    ASSERT_FALSE(old);
    EXPECT_EQ(old.error().code, ChainError::other_version);
    for (const char* const way : {"retrace snapshot export", "retrace snapshot import", "old directory", "empty"})
        EXPECT_NE(old.error().message.find(way), std::string::npos) << old.error().message;
    Genesis bad = make_genesis();
    bad.chain_id = 0;
    MemoryStore fresh;
    EXPECT_EQ(Chain::open(fresh, bad, executor).error().code, ChainError::bad_genesis);
}

TEST(Chain, RestartContinuesWhereItStopped) {
    const test::TempDir dir;
    Hash32 hash;
    {
        auto store = open_rocks_store(dir.path());
        World world(**store);
        for (std::uint64_t i = 0; i < 10; ++i) world.block({sign_tx(transfer(i, number(1), 1), key(0))});
        hash = world.chain->tip()->hash;
    }
    auto store = open_rocks_store(dir.path());
    World world(**store);
    EXPECT_EQ(world.chain->height(), 10U);
    EXPECT_EQ(world.chain->tip()->hash, hash);
    world.block({sign_tx(transfer(10, number(1), 1), key(0))});
    EXPECT_EQ(world.chain->view()->account(number(1)).balance, U256{11});
    EXPECT_EQ(world.chain->view_at(3).value()->account(number(1)).balance, U256{3});
    EXPECT_TRUE(verify_db(**store, make_genesis(), world.executor));
}

TEST(VerifyDb, FindsASingleChangedByte) {
    MemoryStore store;
    World world(store);
    for (std::uint64_t i = 0; i < 5; ++i) {
        world.block({sign_tx(transfer(i, number(1), 1), key(0)), sign_tx(call(i, bytes("sk1")), key(1))});
    }
    std::uint64_t told = 0;
    ASSERT_TRUE(verify_db(store, make_genesis(), world.executor, [&](std::uint64_t height) { told = height; }));
    EXPECT_EQ(told, 5U);
    for (const char letter : {'a', 's', 'n', 'b', 'x', 'l'}) {
        Bytes at_key, original;
        store.scan(Bytes{static_cast<std::uint8_t>(letter)}, {}, 1, [&](View found, View value) {
            at_key = to_bytes(found);
            original = to_bytes(value);
            return false;
        });
        ASSERT_FALSE(original.empty()) << letter;
        Batch damage;
        damage.put(at_key, original);
        damage.ops[0].value->back() ^= 1;
        ASSERT_TRUE(store.write(damage, true));
        EXPECT_FALSE(verify_db(store, make_genesis(), world.executor)) << letter;
        Batch mend;
        mend.put(at_key, original);
        ASSERT_TRUE(store.write(mend, true));
    }
    EXPECT_TRUE(verify_db(store, make_genesis(), world.executor));
}

TEST(Genesis, EncodesAndDecodes) {
    const Genesis genesis = make_genesis();
    const auto decoded = decode_genesis(encode(genesis));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(genesis_hash(*decoded), genesis_hash(genesis));
    EXPECT_EQ(decoded->alloc, genesis.alloc);
    Bytes cut = encode(genesis);
    cut.pop_back();
    EXPECT_FALSE(decode_genesis(cut));
    Genesis rich = genesis;
    rich.alloc[number(1)] = U256::max();
    EXPECT_FALSE(check(rich));
    Genesis tight = genesis;
    tight.gas_limit = 21'000;
    EXPECT_FALSE(check(tight));
    Genesis free = genesis;
    free.base_fee = 0;
    EXPECT_FALSE(check(free));
}

TEST(Genesis, NamesValidatorsInOneOrderOnly) {
    Genesis genesis = make_genesis();
    const Bytes without = encode(genesis);
    Validator first, second;
    first.key.bytes.fill(1);
    second.key.bytes.fill(2);
    first.account = number(7);
    second.account = number(8);
    second.power = kPowerMax;
    second.vrf_key.bytes.fill(3);
    genesis.validators = {first, second};
    genesis.validator_rules = {1, 2, 3};
    const auto decoded = decode_genesis(encode(genesis));
    ASSERT_TRUE(decoded);
    ASSERT_EQ(decoded->validators.size(), 2U);
    EXPECT_EQ(decoded->validators[1].key, second.key);
    EXPECT_EQ(decoded->validators[1].account, second.account);
    EXPECT_EQ(decoded->validators[1].power, kPowerMax);
    EXPECT_EQ(decoded->validators[1].vrf_key, second.vrf_key);
    EXPECT_EQ(decoded->validator_rules, genesis.validator_rules);
    // A genesis without validators has the bytes, and so the hash, that it had before there were any.
    genesis.validators.clear();
    EXPECT_FALSE(check(genesis)) << "rules for nobody";
    genesis.validator_rules.clear();
    EXPECT_EQ(encode(genesis), without);
    Bytes empty_list = without;
    for (int i = 0; i < 4; ++i) empty_list.push_back(0);
    EXPECT_FALSE(decode_genesis(empty_list));

    const auto is_refused = [&](std::vector<Validator> validators) {
        Genesis changed = genesis;
        changed.validators = std::move(validators);
        return !check(changed) && !decode_genesis(encode(changed));
    };
    EXPECT_TRUE(is_refused({second, first}));
    EXPECT_TRUE(is_refused({first, first}));
    Validator same_account = second;
    same_account.account = first.account;
    EXPECT_TRUE(is_refused({first, same_account}));
    Validator none = first;
    none.power = 0;
    EXPECT_TRUE(is_refused({none}));
    none.power = kPowerMax + 1;
    EXPECT_TRUE(is_refused({none}));
    none = first;
    none.account = {};
    EXPECT_TRUE(is_refused({none}));
    std::vector<Validator> many(kValidatorsMax + 1, first);
    for (std::size_t i = 0; i < many.size(); ++i) {
        many[i].key.bytes[0] = static_cast<std::uint8_t>(i + 1);
        many[i].account = number(i + 1);
    }
    EXPECT_TRUE(is_refused(many));
}

}  // namespace
}  // namespace retrace::ledger
