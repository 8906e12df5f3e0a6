// SPDX-License-Identifier: MIT
// The mempool under any order of arrivals, blocks and floods, with limits so small that it is always full. A naive list
// of the accepted and removed transactions agrees with the pool; a refused transaction changes nothing; ready
// transactions can run.
#include "ledger/mempool/mempool.hpp"

#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace ledger;

constexpr std::uint64_t kGasLimit = 200'000;
constexpr std::size_t kParties = 5, kSteps = 120;
constexpr MempoolLimits kLimits{.count = 12, .bytes = 1600, .gap_per_account = 6, .pending_per_account = 8};

Address party(std::size_t n) {
    Address out;
    out.bytes[19] = static_cast<std::uint8_t>(n + 1);
    return out;
}

class Accounts final : public StateView {
public:
    ledger::Account account(const Address& address) const override { return accounts[address.bytes[19] % kParties]; }
    Bytes slot(const Address&, View) const override { return {}; }
    mutable std::array<Account, kParties> accounts{};
};

/// A contract whose calls use a third of what most gas limits allow.
class OneContract final : public TxExecutor {
public:
    static constexpr std::uint64_t kGas = 20'000;
    bool is_contract(const Address& address) const override { return address == party(1); }
    std::uint64_t gas_of(const Address&, View) const override { return kGas; }
    CallResult call(State&, const BlockContext&, const Call&) const override { return {}; }
    CallResult view_call(const StateView&, const BlockContext&, const Call&) const override { return {}; }
    std::vector<Log> begin_block(State&, const BlockContext&) const override { return {}; }
    void genesis(State&, View) const override {}
};

/// Builds the result of read_tx without a signature, which the pool does not look at.
TxPtr make(Choices& choices, std::uint64_t serial, const Accounts& state) {
    auto tx = std::make_shared<SignedTx>();
    const std::size_t who = choices.below(kParties);
    tx->sender = party(who);
    tx->tx.nonce = state.account(tx->sender).nonce + choices.below(9) - (choices.below(8) == 0 ? 1 : 0);
    tx->tx.tip_cap = choices.below(6) * 10;
    tx->tx.fee_cap = tx->tx.tip_cap + U256{choices.below(40)};
    tx->tx.gas_limit = 21'000 + 60'000 * choices.below(4);
    tx->tx.to = party(choices.below(2));
    tx->tx.value = choices.below(16) == 0 ? U256{choices.number()} : U256{1};
    store_u64(tx->hash.bytes.data(), serial);
    tx->raw = Bytes(choices.below(8) == 0 ? 700 : 100 + choices.below(20));
    return tx;
}

class Model {
public:
    Model() {
        for (Account& account : state_.accounts) account.balance = U256{20'000'000};
    }

    void arrive(Choices& choices) {
        const TxPtr tx = make(choices, ++serial_, state_);
        const PoolStats before = pool_.stats();
        const auto added = pool_.add(tx, state_, base_fee_, kGasLimit);
        if (added) {
            there_[tx->hash] = tx;
            if (added->replaced) require(there_.erase(*added->replaced) == 1, "it replaces what was there");
            for (const TxPtr& up : added->promoted)
                require(pool_.find(up->hash) != nullptr, "what is promoted is there");
        }
        drop_gone(added.has_value());
        if (!added) {
            const PoolStats after = pool_.stats();
            require(before.bytes == after.bytes && before.pending == after.pending && before.queued == after.queued,
                    "who is refused changes nothing");
        }
    }
    /// Makes a block of transactions from the pool and sometimes one that the pool has never seen.
    void block(Choices& choices) {
        const auto ready = pool_.ready(state_, base_fee_, 100 + 10 * choices.byte(), kGasLimit);
        Block block;
        std::uint64_t gas = 0;
        for (const TxPtr& tx : ready) {
            gas += std::min(tx->tx.gas_limit, kTransferGas + (*tx->tx.to == party(1) ? OneContract::kGas : 0));
            Account& account = state_.accounts[tx->sender.bytes[19] % kParties];
            require(there_.contains(tx->hash), "what is ready is there");
            require(tx->tx.nonce == account.nonce, "what is ready comes in order of nonces");
            const auto cost = max_cost(tx->tx);
            require(cost && *cost <= account.balance && tx->tx.fee_cap >= base_fee_, "and is covered");
            account.balance -= *cost;
            ++account.nonce;
            block.txs.push_back({tx->hash, {}, tx});
        }
        require(gas <= kGasLimit, "what is ready has room for the gas that it uses");
        if (choices.below(4) == 0) {
            const TxPtr other = make(choices, ++serial_, state_);
            Account& account = state_.accounts[other->sender.bytes[19] % kParties];
            account.nonce += choices.below(3);
            if (choices.flip()) account.balance = U256{choices.number() % 20'000'000};
            block.txs.push_back({other->hash, {}, other});
        }
        base_fee_ = U256{1 + choices.below(30)};
        pool_.on_block(block, state_, base_fee_);
        drop_gone(true);
        for (const auto& [hash, tx] : there_)
            require(tx->tx.nonce >= state_.account(tx->sender).nonce || !sent_in(block, tx->sender),
                    "what a block used up is gone");
    }
    void check() const {
        const PoolStats stats = pool_.stats();
        std::size_t bytes = 0;
        for (const auto& [hash, tx] : there_) bytes += tx->raw.size();
        require(stats.bytes == bytes && stats.pending + stats.queued == there_.size(), "the books are right");
        require(there_.size() <= kLimits.count && bytes <= kLimits.bytes, "and within the limits");
        require(pool_.contents().size() == there_.size(), "and complete");
        Mempool again(executor_, kLimits);
        for (const TxPtr& tx : pool_.contents()) {
            const bool may = tx->tx.nonce >= state_.account(tx->sender).nonce &&
                             *max_cost(tx->tx) <= state_.account(tx->sender).balance;
            require(again.restore(tx, state_, base_fee_, kGasLimit).has_value() == may,
                    "all that may still run comes back after a restart");
        }
    }

private:
    static bool sent_in(const Block& block, const Address& sender) {
        return std::any_of(block.txs.begin(), block.txs.end(),
                           [&](const BlockTx& tx) { return tx.tx && tx.tx->sender == sender; });
    }
    void drop_gone(bool may) {
        for (auto at = there_.begin(); at != there_.end();) {
            const bool gone = pool_.find(at->first) == nullptr;
            require(may || !gone, "nothing goes for nothing");
            at = gone ? there_.erase(at) : std::next(at);
        }
    }

    Accounts state_;
    OneContract executor_;
    Mempool pool_{executor_, kLimits};
    U256 base_fee_{10};
    std::uint64_t serial_ = 0;
    std::map<Hash32, TxPtr> there_;
};

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint64_t number = 0; number < 24; ++number) out.push_back(random_choices(0, number, 1500));
    return out;
}

void run(View input) {
    Choices choices(input);
    Model model;
    for (std::size_t step = 0; step < kSteps && !choices.empty(); ++step) {
        if (choices.below(6) == 0)
            model.block(choices);
        else
            model.arrive(choices);
        model.check();
    }
}

}  // namespace retrace::fuzz
