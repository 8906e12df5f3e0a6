// SPDX-License-Identifier: MIT
// Eviction from a full pool in favour of a newcomer. SPEC 7.3
#include "ledger/mempool/mempool_impl.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kOwnMax = 16;  // limit on the sender's own transactions that are skipped among the cheapest

}  // namespace

/// Selects the transactions to evict for a newcomer before any is removed: a refused newcomer changes nothing. SPEC 7.3
class Mempool::Impl::Eviction {
public:
    Eviction(const Impl& pool, const SignedTx& newcomer, const StateView& view, std::size_t count, std::size_t bytes)
        : pool_(pool), newcomer_(newcomer), view_(view), count_(count), bytes_(bytes) {}

    bool enough() const {
        return pool_.known.size() + count_ <= pool_.limits.count + victims_.size() &&
               pool_.bytes + bytes_ <= pool_.limits.bytes + freed_;
    }
    /// Takes transactions behind a gap, whatever their tip: they may never run and thus never pay. The account with
    /// most of them loses its last ones first.
    void take_waiting() {
        for (auto at = pool_.waiting.rbegin(); at != pool_.waiting.rend() && !enough(); ++at) {
            if (at->second == newcomer_.sender) continue;
            for (std::size_t left = at->first; left > 0 && !enough(); --left) take_last(at->second);
        }
    }
    /// Takes the last transaction of the account that holds the cheapest one, if the newcomer pays more than that one or
    /// is awaited; never the sender's own, which would open a gap in front of the newcomer, and none that is awaited.
    void take_cheapest() {
        const bool is_awaited = pool_.is_awaited(newcomer_, view_);
        const U256 tip = effective_tip(newcomer_.tx, pool_.base_fee);
        std::size_t own = 0;
        for (const auto& [rank, equals] : pool_.ranks) {
            if (rank >= tip && !is_awaited) return;
            for (auto at = equals.rbegin(); at != equals.rend(); ++at) {
                const SignedTx& cheapest = *pool_.known.at(at->second).tx;
                if (cheapest.sender == newcomer_.sender && ++own == kOwnMax) return;
                while (cheapest.sender != newcomer_.sender && !enough() && !is_taken(cheapest) &&
                       !is_awaited_last(cheapest.sender))
                    take_last(cheapest.sender);
                if (enough()) return;
            }
        }
    }
    const std::vector<TxPtr>& victims() const { return victims_; }

private:
    /// Takes the account's last transaction that was not taken yet.
    void take_last(const Address& account) {
        const auto& entries = pool_.accounts.at(account).entries();
        auto [next, first] = next_.try_emplace(account, entries.rbegin());
        victims_.push_back(next->second->second.tx);
        freed_ += victims_.back()->raw.size();
        ++next->second;
    }
    /// Whether the account's last transaction that was not taken yet is awaited, or comes before one that is.
    bool is_awaited_last(const Address& account) {
        const AccountQueue& queue = pool_.accounts.at(account);
        const std::uint64_t first = queue.entries().begin()->first;
        const auto next = next_.find(account);
        const std::uint64_t last = (next == next_.end() ? queue.entries().rbegin() : next->second)->first;
        if (last - first >= kAwaitedAmong) return false;
        auto known = awaited_until_.find(account);
        if (known == awaited_until_.end())
            known = awaited_until_.emplace(account, pool_.awaited_until(queue, first, view_)).first;
        return known->second && last <= *known->second;
    }
    bool is_taken(const SignedTx& tx) const {
        const auto next = next_.find(tx.sender);
        if (next == next_.end()) return false;
        const auto end = pool_.accounts.at(tx.sender).entries().rend();
        return next->second == end || next->second->first < tx.tx.nonce;
    }

    const Impl& pool_;
    const SignedTx& newcomer_;
    const StateView& view_;
    const std::size_t count_, bytes_;
    std::vector<TxPtr> victims_;
    std::size_t freed_ = 0;
    std::map<Address, AccountQueue::Entries::const_reverse_iterator> next_;
    std::map<Address, std::optional<std::uint64_t>> awaited_until_;
};

Result<std::vector<TxPtr>, TxRefusal> Mempool::Impl::make_room(const SignedTx& tx, const AccountQueue& queue,
                                                               const StateView& view) {
    const auto* old = queue.find(tx.tx.nonce);
    const std::size_t freed = old ? old->tx->raw.size() : 0;
    const std::size_t more_bytes = tx.raw.size() > freed ? tx.raw.size() - freed : 0;
    Eviction eviction(*this, tx, view, old ? 0 : 1, more_bytes);
    const bool executable = tx.tx.nonce <= queue.pending_end();
    if (!eviction.enough() && executable) {
        eviction.take_waiting();
        eviction.take_cheapest();
    }
    if (!eviction.enough()) return Unexpected{TxRefusal{TxError::pool_full, "transaction underpriced: txpool is full"}};
    for (const TxPtr& victim : eviction.victims()) remove(*victim);
    return eviction.victims();
}

}  // namespace retrace::ledger
