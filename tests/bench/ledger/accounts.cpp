// SPDX-License-Identifier: MIT
// One block of transfers on states of two sizes, in this process, on RocksDB. Signatures are checked beforehand, as the
// mempool does: their cost does not depend on the state.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <stdexcept>

#include "ledger/chain/chain.hpp"
#include "ledger/storage/rocks_store.hpp"
#include "node/server/rules.hpp"
#include "tests/bench/ledger/bench_node.hpp"
#include "tests/bench/ledger/load.hpp"
#include "tests/bench/ledger/measurements.hpp"

namespace retrace::bench {
namespace {

constexpr std::size_t kBlockSenders = 10'000;
constexpr std::size_t kTransfers = 2000;  // per block, each from a different sender to a different account
constexpr int kBlocks = 15;
constexpr int kWarm = 3;  // blocks that are not measured

ledger::Genesis genesis_of(const std::vector<ledger::SecretKey>& keys, std::size_t accounts, Bytes contracts) {
    ledger::Genesis genesis;
    genesis.chain_id = kChainId;
    genesis.time_ns = 1'767'225'600ULL * 1'000'000'000;
    genesis.contracts = std::move(contracts);
    const ledger::U256 coins = ledger::U256{1'000'000} * ledger::U256{1'000'000'000'000'000'000};
    for (const auto& key : keys) genesis.alloc[key.address()] = coins;
    for (std::uint64_t i = 0; genesis.alloc.size() < accounts; ++i) genesis.alloc[plain_account(i)] = coins;
    return genesis;
}

/// A chain with so many accounts, and its next block of transfers. The blocks are the same for every size, except that
/// recipients are drawn from all accounts.
class World {
public:
    World(const std::vector<ledger::SecretKey>& keys, std::size_t accounts)
        : keys_(keys), rules_(node::native_rules()), order_(keys.size()), nonces_(keys.size(), 0) {
        auto store = ledger::open_rocks_store((folder_.path() / "db").string());
        if (!store) throw std::runtime_error(store.error().message);
        store_ = std::move(store).value();
        const ledger::Genesis genesis = genesis_of(keys, accounts, *rules_.encode_genesis({}));
        auto chain = ledger::Chain::open(*store_, genesis, *rules_.executor);
        if (!chain) throw std::runtime_error(chain.error().message);
        chain_ = std::move(chain).value();
        for (const auto& [address, balance] : genesis.alloc) all_.push_back(address);
        for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    }

    void next_block() {
        const std::map<Hash32, ledger::TxPtr> known = make_transfers();
        std::vector<View> raws;
        for (const auto& [hash, tx] : known) raws.emplace_back(tx->raw);
        ledger::BlockInput input;
        input.height = chain_->height() + 1;
        input.time_ns = chain_->genesis().time_ns + input.height * 1'000'000'000;
        input.txs = raws;
        input.known = [&known](const Hash32& hash) { return known.at(hash); };
        const auto start = Clock::now();
        const auto outcome = chain_->execute_block(input);
        const double executed = 1000 * seconds_since(start);
        if (!outcome) throw std::runtime_error(outcome.error().message);
        if (const auto done = chain_->commit(*outcome); !done) throw std::runtime_error(done.error().message);
        if (outcome->block->header.gas_used != kTransfers * ledger::kTransferGas) {
            throw std::runtime_error("transfers of the benchmark were refused");
        }
        execute.push_back(executed);
        commit.push_back(1000 * seconds_since(start) - executed);
    }

    std::vector<double> execute, commit;  ///< Milliseconds of each block.

private:
    std::map<Hash32, ledger::TxPtr> make_transfers() {
        std::shuffle(order_.begin(), order_.end(), random_);
        std::map<Hash32, ledger::TxPtr> out;
        for (std::size_t i = 0; i < kTransfers; ++i) {
            ledger::Transaction tx;
            tx.chain_id = kChainId;
            tx.nonce = nonces_[order_[i]]++;
            tx.tip_cap = ledger::U256{1};
            tx.fee_cap = ledger::U256{2'000'000'000};
            tx.gas_limit = ledger::kTransferGas;
            tx.to = all_[random_() % all_.size()];
            tx.value = ledger::U256{1};
            const auto made = ledger::sign_tx(std::move(tx), keys_[order_[i]]);
            out.emplace(made->hash, made);
        }
        return out;
    }

    const Folder folder_;
    const std::vector<ledger::SecretKey>& keys_;
    const node::Rules rules_;
    std::unique_ptr<ledger::Store> store_;
    std::unique_ptr<ledger::Chain> chain_;
    std::vector<ledger::Address> all_;
    std::mt19937_64 random_{1};
    std::vector<std::size_t> order_;
    std::vector<std::uint64_t> nonces_;
};

}  // namespace

std::vector<Row> measure_accounts(const Options&) {
    const auto keys = make_keys(kBlockSenders);
    std::fprintf(stderr, "accounts: blocks of %zu transfers on ten thousand accounts and on a million\n", kTransfers);
    World small(keys, 10'000), large(keys, 1'000'000);
    for (int i = 0; i < kWarm + kBlocks; ++i) {  // alternating, so that other load slows down both
        small.next_block();
        large.next_block();
        if (i + 1 != kWarm) continue;
        for (World* world : {&small, &large}) {
            world->execute.clear();
            world->commit.clear();
        }
    }
    const char* peer = "the same with ten thousand accounts";
    return {{"block_execution_1M", "ms", peer, median(large.execute), median(small.execute)},
            {"block_commit_1M", "ms", peer, median(large.commit), median(small.commit)}};
}

}  // namespace retrace::bench
