// SPDX-License-Identifier: MIT
#include <algorithm>
#include <mutex>
#include <tuple>

#include "ledger/crypto/keccak.hpp"
#include "ledger/exec/max_gas.hpp"
#include "ledger/mempool/mempool_impl.hpp"
#include "ledger/tx/admit.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

constexpr std::uint64_t kBumpPercent = 10;
constexpr std::size_t kBytesPerTx = 8;  // length prefix in a proposal, for either engine

/// At least 10 % more, and strictly more.
bool bumped(const U256& old_fee, const U256& new_fee) {
    const auto threshold = checked_mul(old_fee, 100 + kBumpPercent);
    const auto offered = checked_mul(new_fee, 100);
    if (!offered) return threshold.has_value();
    return threshold && *offered >= *threshold && new_fee > old_fee;
}

}  // namespace

Mempool::Mempool(const TxExecutor& executor, MempoolLimits limits) : impl_(std::make_unique<Impl>(executor, limits)) {}
Mempool::~Mempool() = default;

std::uint64_t Mempool::Impl::next_nonce(const Address& sender, const Account& account) const {
    // The caller's view may be one block older than the pool; then the pool's nonce is right.
    const auto found = last_block_nonces.find(sender);
    return std::max(account.nonce, found == last_block_nonces.end() ? 0 : found->second);
}

std::optional<TxRefusal> Mempool::Impl::check_fee(const SignedTx& tx, const U256& fee) const {
    if (tx.tx.tip_cap < limits.min_tip) {
        return TxRefusal{TxError::underpriced, "transaction underpriced: tip needed " + limits.min_tip.to_decimal() +
                                                   ", tip permitted " + tx.tx.tip_cap.to_decimal()};
    }
    if (tx.tx.fee_cap < fee) return fee_cap_too_low(tx, fee);
    return std::nullopt;
}

std::optional<TxRefusal> Mempool::Impl::check_place(const SignedTx& tx, const AccountQueue& queue,
                                                    std::uint64_t next) const {
    if (tx.tx.nonce < next) return nonce_too_low(tx.tx.nonce, next);
    if (tx.tx.nonce - queue.pending_end() > limits.gap_per_account && tx.tx.nonce > queue.pending_end()) {
        return nonce_too_high(tx.tx.nonce, queue.pending_end());
    }
    if (const auto* old = queue.find(tx.tx.nonce)) {
        if (bumped(old->tx->tx.fee_cap, tx.tx.fee_cap) && bumped(old->tx->tx.tip_cap, tx.tx.tip_cap)) {
            return std::nullopt;
        }
        return TxRefusal{TxError::replacement_underpriced, "replacement transaction underpriced"};
    }
    if (queue.size() >= limits.pending_per_account) {
        return TxRefusal{TxError::account_queue_full, "account limit exceeded: " + std::to_string(queue.size()) +
                                                          " transactions of " + to_0x(tx.sender) + " wait already"};
    }
    return std::nullopt;
}

std::optional<TxRefusal> Mempool::Impl::check_balance(const SignedTx& tx, const AccountQueue& queue,
                                                      const Account& account) const {
    const U256& balance = account.balance;
    if (auto refusal = check_funds(tx, balance)) return refusal;
    U256 queued = queue.total_cost();
    // Between a commit and `on_block` the balance has already paid for transactions that the queue still holds.
    for (auto at = queue.entries().begin(); at != queue.entries().end() && at->first < account.nonce; ++at)
        queued -= at->second.cost;
    if (const auto* old = queue.find(tx.tx.nonce)) queued -= *max_cost(old->tx->tx);
    const U256 cost = *max_cost(tx.tx);  // check_funds ensured that it fits
    const auto total = checked_add(queued, cost);
    if (total && *total <= balance) return std::nullopt;
    const std::string overshot = total ? (*total - balance).to_decimal() : "over 256 bits";
    return TxRefusal{TxError::insufficient_funds, "insufficient funds for gas * price + value: balance " +
                                                      balance.to_decimal() + ", queued cost " + queued.to_decimal() +
                                                      ", tx cost " + cost.to_decimal() + ", overshot " + overshot};
}

void Mempool::Impl::index(const TxPtr& tx) {
    const U256 tip = effective_tip(tx->tx, base_fee);
    known.emplace(tx->hash, Known{tx, tip, arrivals});
    auto& equals = ranks[tip];
    equals.emplace_hint(equals.end(), arrivals, tx->hash);
    bytes += tx->raw.size();
}

void Mempool::Impl::forget(const SignedTx& tx) {
    const auto found = known.find(tx.hash);
    ensure(found != known.end(), "every queued transaction is known");
    bytes -= tx.raw.size();
    const auto equals = ranks.find(found->second.tip);
    equals->second.erase(found->second.arrival);
    if (equals->second.empty()) ranks.erase(equals);
    known.erase(found);
}

void Mempool::Impl::remove(const SignedTx& tx) {
    const auto queue = accounts.find(tx.sender);
    const TxPtr kept = queue->second.find(tx.tx.nonce)->tx;  // `tx` may be owned by the queue
    const std::size_t waited = queue->second.waiting();
    queue->second.remove(kept->tx.nonce);
    note_waiting(kept->sender, waited, queue->second.waiting());
    if (queue->second.empty()) accounts.erase(queue);
    forget(*kept);
}

void Mempool::Impl::note_waiting(const Address& account, std::size_t before, std::size_t now) {
    if (before == now) return;
    waiting.erase({before, account});
    if (now != 0) waiting.emplace(now, account);
}

void Mempool::Impl::rank_again(const U256& new_base_fee) {
    if (new_base_fee == base_fee) return;
    base_fee = new_base_fee;
    ranks.clear();
    for (auto& [hash, entry] : known) {
        entry.tip = effective_tip(entry.tx->tx, base_fee);
        ranks[entry.tip].emplace(entry.arrival, hash);
    }
}

bool Mempool::Impl::is_awaited(const SignedTx& tx, const StateView& view) const {
    const Transaction& call = tx.tx;
    if (next_height == 0 || !executor.is_contract(*call.to)) return false;
    const std::uint64_t gas = call.gas_limit - intrinsic_gas(call);
    return executor.is_awaited(view, next_height, {tx.sender, *call.to, call.value, call.data, gas});
}

std::optional<std::uint64_t> Mempool::Impl::awaited_until(const AccountQueue& queue, std::uint64_t next,
                                                          const StateView& view) const {
    std::size_t all_bytes = 0;
    std::uint64_t all_gas = 0;
    auto at = queue.entries().lower_bound(next);
    for (std::size_t i = 0; i < kAwaitedAmong && at != queue.entries().end() && at->first == next + i; ++i, ++at) {
        all_bytes += at->second.tx->raw.size();
        all_gas += at->second.gas;
        if (all_bytes > kAwaitedBytes || all_gas > kAwaitedGas) return std::nullopt;
        if (is_awaited(*at->second.tx, view)) return at->first;
    }
    return std::nullopt;
}

Added Mempool::Impl::put(const TxPtr& tx, std::uint64_t gas, std::uint64_t next) {
    AccountQueue& queue = accounts.try_emplace(tx->sender, next).first->second;
    Added added;
    added.hash = tx->hash;
    if (const auto* old = queue.find(tx->tx.nonce)) {
        added.replaced = old->tx->hash;
        forget(*old->tx);
    }
    index(tx);
    const std::size_t waited = queue.waiting();
    added.promoted = queue.put(tx, arrivals++, gas);
    note_waiting(tx->sender, waited, queue.waiting());
    return added;
}

Result<Added, TxRefusal> Mempool::add(TxPtr tx, const StateView& view, const U256& base_fee, std::uint64_t gas_limit) {
    Impl& pool = *impl_;
    if (auto refusal = check(tx->tx)) return Unexpected{std::move(*refusal)};
    if (auto refusal = check_gas_limit(tx->tx, gas_limit)) return Unexpected{std::move(*refusal)};
    if (auto refusal = pool.check_fee(*tx, base_fee)) return Unexpected{std::move(*refusal)};
    const std::uint64_t gas = max_gas(tx->tx, pool.executor);
    const std::unique_lock lock(pool.mutex);
    const Account account = view.account(tx->sender);  // under the lock: a live view is then never older than the pool
    if (pool.known.contains(tx->hash)) return refuse(TxError::already_known, "already known");
    if (pool.base_fee.is_zero()) pool.rank_again(base_fee);
    const std::uint64_t next = pool.next_nonce(tx->sender, account);
    const auto found = pool.accounts.find(tx->sender);
    const AccountQueue fresh(next);
    const AccountQueue& queue = found == pool.accounts.end() ? fresh : found->second;
    if (auto refusal = pool.check_place(*tx, queue, next)) return Unexpected{std::move(*refusal)};
    if (auto refusal = pool.check_balance(*tx, queue, account)) return Unexpected{std::move(*refusal)};
    RETRACE_TRY(evicted, pool.make_room(*tx, queue, view));
    Added added = pool.put(tx, gas, next);
    added.evicted = std::move(evicted);
    return added;
}

Status<TxRefusal> Mempool::restore(TxPtr tx, const StateView& view, const U256& base_fee, std::uint64_t gas_limit) {
    Impl& pool = *impl_;
    if (auto refusal = check(tx->tx)) return Unexpected{std::move(*refusal)};
    if (auto refusal = check_gas_limit(tx->tx, gas_limit)) return Unexpected{std::move(*refusal)};
    const std::uint64_t gas = max_gas(tx->tx, pool.executor);
    const std::unique_lock lock(pool.mutex);
    const Account account = view.account(tx->sender);
    if (pool.base_fee.is_zero()) pool.rank_again(base_fee);
    const std::uint64_t next = pool.next_nonce(tx->sender, account);
    if (tx->tx.nonce < next) return Unexpected{nonce_too_low(tx->tx.nonce, next)};
    const auto queue = pool.accounts.find(tx->sender);
    if (queue != pool.accounts.end() && queue->second.find(tx->tx.nonce) != nullptr)
        return refuse(TxError::already_known, "its nonce is taken");
    // As in on_block: the balance must cover each single transaction; it may no longer cover all of them together.
    if (auto refusal = check_funds(*tx, account.balance)) return Unexpected{std::move(*refusal)};
    const U256 queued = queue == pool.accounts.end() ? U256{} : queue->second.total_cost();
    if (!checked_add(queued, *max_cost(tx->tx)))
        return refuse(TxError::insufficient_funds, "the account's costs are over 256 bits");
    if (pool.known.size() >= pool.limits.count || pool.bytes + tx->raw.size() > pool.limits.bytes)
        return refuse(TxError::pool_full, "txpool is full");
    pool.put(tx, gas, next);
    return Unit{};
}

PoolChange Mempool::on_block(const Block& block, const StateView& view, const U256& base_fee) {
    Impl& pool = *impl_;
    std::map<Address, Account> senders;
    for (const BlockTx& tx : block.txs) {
        if (tx.tx) senders.try_emplace(tx.tx->sender);
    }
    for (auto& [address, account] : senders) account = view.account(address);
    const std::unique_lock lock(pool.mutex);
    pool.last_block_nonces.clear();
    pool.next_height = block.header.height + 1;
    PoolChange change;
    for (const auto& [address, account] : senders) {
        pool.last_block_nonces.emplace_hint(pool.last_block_nonces.end(), address, account.nonce);
        const auto queue = pool.accounts.find(address);
        if (queue == pool.accounts.end()) continue;
        const std::size_t waited = queue->second.waiting();
        AccountQueue::Advance advance = queue->second.advance(account.nonce, account.balance);
        pool.note_waiting(address, waited, queue->second.waiting());
        for (const TxPtr& tx : advance.done) pool.forget(*tx);
        for (const TxPtr& tx : advance.dropped) pool.forget(*tx);
        std::move(advance.promoted.begin(), advance.promoted.end(), std::back_inserter(change.promoted));
        std::move(advance.dropped.begin(), advance.dropped.end(), std::back_inserter(change.dropped));
        if (queue->second.empty()) pool.accounts.erase(queue);
    }
    pool.rank_again(base_fee);
    return change;
}

Result<TxPtr, TxRefusal> Mempool::read(View raw, std::uint64_t chain_id) const {
    if (find(keccak256(raw)) != nullptr) return refuse(TxError::already_known, "already known");
    return read_tx(raw, chain_id);
}

TxPtr Mempool::find(const Hash32& hash) const {
    const std::shared_lock lock(impl_->mutex);
    const auto found = impl_->known.find(hash);
    return found == impl_->known.end() ? nullptr : found->second.tx;
}

std::uint64_t Mempool::pending_nonce(const Address& sender, const StateView& view) const {
    const std::shared_lock lock(impl_->mutex);
    const std::uint64_t next = impl_->next_nonce(sender, view.account(sender));
    const auto queue = impl_->accounts.find(sender);
    return queue == impl_->accounts.end() ? next : std::max(next, queue->second.pending_end());
}

std::size_t Mempool::bytes() const {
    const std::shared_lock lock(impl_->mutex);
    return impl_->bytes;
}

PoolStats Mempool::stats() const {
    const std::shared_lock lock(impl_->mutex);
    PoolStats out;
    for (const auto& [waiting, address] : impl_->waiting) out.queued += waiting;
    out.pending = impl_->known.size() - out.queued;
    out.bytes = impl_->bytes;
    return out;
}

std::vector<TxPtr> Mempool::contents() const {
    const std::shared_lock lock(impl_->mutex);
    std::vector<TxPtr> out;
    out.reserve(impl_->known.size());
    for (const auto& [address, queue] : impl_->accounts) {
        for (const auto& [nonce, entry] : queue.entries()) out.push_back(entry.tx);
    }
    return out;
}

namespace {

/// One account's entry in the selection for a block: its next transaction that fits.
struct Contender {
    std::optional<std::uint64_t> awaited_until;
    bool is_awaited = false;  // or comes before an awaited call of its account
    U256 tip;
    std::uint64_t arrival = 0;
    const AccountQueue* queue = nullptr;
    std::map<std::uint64_t, AccountQueue::Entry>::const_iterator next;
    std::uint64_t nonce = 0;  // nonce of the next transaction
    U256 balance;             // balance left if the chosen transactions have their highest cost

    /// Awaited first, then the highest tip; among equals the earliest first.
    bool operator<(const Contender& other) const {
        return std::tie(is_awaited, tip, other.arrival) < std::tie(other.is_awaited, other.tip, arrival);
    }

    /// Returns false if the account has no further transaction that could run.
    bool find_tip(const U256& base_fee) {
        if (next == queue->entries().end() || next->first != nonce) return false;
        const Transaction& tx = next->second.tx->tx;
        const U256& cost = next->second.cost;
        if (tx.fee_cap < base_fee || cost > balance) return false;
        balance -= cost;
        is_awaited = awaited_until && next->first <= *awaited_until;
        tip = effective_tip(tx, base_fee);
        arrival = next->second.arrival;
        ++nonce;
        return true;
    }
};

}  // namespace

std::vector<TxPtr> Mempool::ready(const StateView& view, const U256& base_fee, std::size_t max_bytes,
                                  std::uint64_t gas_limit) const {
    const std::shared_lock lock(impl_->mutex);
    std::vector<Contender> heap;
    heap.reserve(impl_->accounts.size());
    for (const auto& [address, queue] : impl_->accounts) {
        if (queue.pending() == 0) continue;  // avoids a read from disk
        const Account account = view.account(address);
        Contender contender;
        contender.queue = &queue;
        contender.next = queue.entries().lower_bound(account.nonce);
        contender.nonce = account.nonce;
        contender.balance = account.balance;
        contender.awaited_until = impl_->awaited_until(queue, account.nonce, view);
        if (contender.find_tip(base_fee)) heap.push_back(std::move(contender));
    }
    std::make_heap(heap.begin(), heap.end());
    std::vector<TxPtr> out;
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end());
        Contender& best = heap.back();
        const TxPtr& tx = best.next->second.tx;
        const std::size_t size = tx->raw.size() + kBytesPerTx;
        // A transaction that does not fit takes its account out of this block: its later nonces depend on it.
        const std::uint64_t gas = best.next->second.gas;
        bool more = size <= max_bytes && gas <= gas_limit;
        if (more) {
            max_bytes -= size;
            gas_limit -= gas;
            out.push_back(tx);
            ++best.next;
            more = best.find_tip(base_fee);
        }
        if (more) {
            std::push_heap(heap.begin(), heap.end());
        } else {
            heap.pop_back();
        }
    }
    return out;
}

}  // namespace retrace::ledger
