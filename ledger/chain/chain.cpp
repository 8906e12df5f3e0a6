// SPDX-License-Identifier: MIT
// The writing side of the chain: opening, executing, committing.
#include "ledger/chain/chain.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "ledger/chain/block_store.hpp"
#include "ledger/chain/build_block.hpp"
#include "ledger/chain/chain_impl.hpp"
#include "ledger/chain/commit.hpp"
#include "ledger/chain/keys.hpp"
#include "ledger/state/cached_view.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kRecentBlocks = 8;

Unexpected<ChainFailure> failure(ChainError code, std::string message) {
    return {ChainFailure{code, std::move(message)}};
}

Status<ChainFailure> check_owner(const Store& store, const Genesis& genesis) {
    if (store.get(keys::unfinished())) {
        return failure(ChainError::unfinished, "the import of a snapshot was interrupted; import it again");
    }
    const auto format = store.get(keys::format());
    const auto owner = store.get(keys::genesis());
    const Hash32 expected = genesis_hash(genesis);
    if (format && *format != Bytes{kFormatVersion}) {
        const std::string written = format->size() == 1 ? std::to_string((*format)[0]) : to_0x(*format);
        return failure(ChainError::other_version,
                       "the data were written in format " + written +
                           ", by the rules of another version; this program's is " + std::to_string(kFormatVersion) +
                           ". To go on from their state, `retrace snapshot export` with the program that wrote "
                           "them and `retrace snapshot import` with this one into a new --data-dir, with the same "
                           "genesis (a file that named no gasLimit meant 1000000000 up to format 3), on every node "
                           "from the same block. Or begin with an empty --data-dir. This old directory is left as it "
                           "is");
    }
    if (owner && !equal(*owner, view(expected))) {
        return failure(ChainError::other_chain, "the data belong to another chain: genesis " + to_0x(*owner) +
                                                    ", expected " + to_0x(view(expected)));
    }
    if (store.get(keys::tip()) && !(format && owner)) {
        return failure(ChainError::corrupt, "the data do not say which chain they belong to");
    }
    return Unit{};
}

Status<ChainFailure> write_genesis(Store& store, const Genesis& genesis, const TxExecutor& executor,
                                   const ChainOptions& options) {
    RETRACE_TRY(outcome, build_genesis(store, genesis, executor));
    CommitPlan plan = plan_commit(store, outcome, std::nullopt, options);
    Batch batch;  // the genesis hash comes first, so that a torn genesis is not taken for another chain's
    batch.put(keys::genesis(), to_bytes(view(genesis_hash(genesis))));
    batch.put(keys::format(), {kFormatVersion});
    std::move(plan.batch.ops.begin(), plan.batch.ops.end(), std::back_inserter(batch.ops));
    if (const auto written = store.write(batch, true); !written) {
        return failure(ChainError::store_failed, written.error().message);
    }
    return Unit{};
}

/// Checks that the tip is the block that its record names, follows a known block, and has a state tree.
Result<std::shared_ptr<const Block>, ChainFailure> load_tip(const Store& store, const TipRecord& tip) {
    auto block = load_block(store, tip.height);
    if (!block || block->hash != tip.hash || block_hash(block->header) != tip.hash) {
        return failure(ChainError::corrupt, "block " + std::to_string(tip.height) + " is missing or damaged");
    }
    if (tip.height > 0 && load_height(store, block->header.parent) != tip.height - 1) {
        return failure(ChainError::corrupt, "block " + std::to_string(tip.height - 1) + " is missing or damaged");
    }
    const auto root = tip_nodes(store).get(merkle::NodePath{}.store_key());
    const auto node = root ? merkle::SparseNode::decode(*root) : merkle::SparseNode{};
    if (!node || node->hash() != block->header.state_root) {
        return failure(ChainError::corrupt, "the state does not belong to block " + std::to_string(tip.height));
    }
    return block;
}

/// The accounts that a block's transactions name.
std::vector<Address> parties_of(const std::vector<BlockTx>& txs) {
    std::vector<Address> out;
    out.reserve(2 * txs.size());
    for (const BlockTx& entry : txs) {
        if (!entry.tx) continue;
        out.push_back(entry.tx->sender);
        if (entry.tx->tx.to) out.push_back(*entry.tx->tx.to);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

/// Prefetches the pages of the state tree that lead to `parties`, while accounts are read and transactions executed.
class AsyncPrefetch {
public:
    AsyncPrefetch(const PageSource& source, const std::vector<Address>& parties, unsigned threads) {
        constexpr std::size_t kWorthAThread = 128;
        if (threads == 1 || parties.size() < kWorthAThread) return;
        thread_ = std::thread([this, &source, &parties] {
            std::vector<Hash32> keys;
            keys.reserve(parties.size());
            for (const Address& party : parties) keys.push_back(account_leaf_key(party));
            std::sort(keys.begin(), keys.end());
            pages_ = prefetch_tree(source, keys, stop_);
        });
    }
    ~AsyncPrefetch() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }
    /// Returns the pages read so far; the tree update reads the others itself.
    TreePrefetch take() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
        return std::move(pages_);
    }

private:
    TreePrefetch pages_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

StateDiff values_before(const StateDiff& diff, const StateView& view) {
    StateDiff out;
    for (const auto& [address, account] : diff.accounts) {
        out.accounts.emplace_hint(out.accounts.end(), address, view.account(address));
    }
    for (const auto& [key, value] : diff.slots) {
        out.slots.emplace_hint(out.slots.end(), key, view.slot(key.contract, key.key));
    }
    return out;
}

}  // namespace

std::string_view slug(ChainError error) noexcept {
    switch (error) {
        case ChainError::bad_genesis: return "bad_genesis";
        case ChainError::other_chain: return "other_chain";
        case ChainError::other_version: return "other_version";
        case ChainError::corrupt: return "corrupt";
        case ChainError::store_failed: return "store_failed";
        case ChainError::bad_block: return "bad_block";
        case ChainError::not_kept: return "not_kept";
        case ChainError::bad_snapshot: return "bad_snapshot";
        case ChainError::unfinished: return "unfinished";
        case ChainError::stopped: return "stopped";
    }
    return "unknown";
}

Chain::Chain(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Chain::~Chain() = default;

Result<std::unique_ptr<Chain>, ChainFailure> Chain::open(Store& store, const Genesis& genesis,
                                                         const TxExecutor& executor, ChainOptions options) {
    if (const auto good = check(genesis); !good) return failure(ChainError::bad_genesis, good.error().message);
    RETRACE_CHECK(check_owner(store, genesis));
    RETRACE_TRY(tip, repair(store));
    if (!tip) {
        RETRACE_CHECK(write_genesis(store, genesis, executor, options));
        RETRACE_TRY(written, repair(store));
        tip = written;
    }
    if (!tip) return failure(ChainError::store_failed, "the genesis block was written and is not there");
    RETRACE_TRY(block, load_tip(store, *tip));
    auto impl = std::make_unique<Impl>(store, executor, genesis, options);
    impl->writing = tip->height;
    impl->pages.keep_upper();
    impl->forget(*tip);
    impl->publish(*tip, std::move(block));
    return std::unique_ptr<Chain>(new Chain(std::move(impl)));
}

void Chain::Impl::publish(const TipRecord& record, std::shared_ptr<const Block> block) {
    tip_record = record;
    const std::lock_guard lock(mutex);
    tip = block;
    recent.push_back(std::move(block));
    if (recent.size() > kRecentBlocks) recent.pop_front();
    height = record.height;
}

void Chain::Impl::forget(const TipRecord& record) {
    oldest_state = record.oldest_state;
    oldest_pages = record.oldest_pages;
    oldest_block = record.oldest_block;
}

Result<BlockOutcome, ChainFailure> Chain::execute_block(const BlockInput& input) const {
    const std::shared_ptr<const Block> parent = tip();
    const Header& before = parent->header;
    if (input.height != before.height + 1) {
        return failure(ChainError::bad_block, "block " + std::to_string(input.height) + " does not follow block " +
                                                  std::to_string(before.height));
    }
    // CometBFT gives the first block the genesis time.
    if (input.time_ns < before.time_ns + (before.height > 0 ? 1 : 0)) {
        return failure(ChainError::bad_block, "the block's time does not advance");
    }
    BlockParts parts;
    parts.header.parent = parent->hash;
    parts.header.height = input.height;
    parts.header.time_ns = input.time_ns;
    parts.header.proposer = input.proposer;
    parts.header.base_fee = next_base_fee();
    parts.header.gas_limit = before.gas_limit;
    parts.old_state_root = before.state_root;
    parts.txs = read_txs(input, impl_->genesis.chain_id, impl_->options.threads);
    const CommittedView committed(impl_->store, impl_->writing, before.height);
    CachedView cached(committed);
    const std::vector<Address> parties = parties_of(parts.txs);
    AsyncPrefetch prefetch(impl_->pages, parties, impl_->options.threads);
    cached.remember(parties, committed.accounts(parties));
    State state(cached);
    const BlockContext context{.height = input.height,
                               .time_s = parts.header.time_s(),
                               .chain_id = impl_->genesis.chain_id,
                               .base_fee = parts.header.base_fee,
                               .proposer = input.proposer};
    parts.executed = execute_txs(state, context, parts.header.gas_limit, impl_->executor, input.report, parts.txs);
    parts.diff = state.diff();
    parts.before = values_before(parts.diff, cached);
    parts.threads = impl_->options.threads;
    parts.prefetch = prefetch.take();
    return build_block(impl_->pages, std::move(parts));
}

Status<ChainFailure> Chain::commit(const BlockOutcome& outcome) {
    Impl& impl = *impl_;
    if (impl.failed) return failure(ChainError::store_failed, "an earlier write failed; open the chain again");
    const Header& header = outcome.block->header;
    if (header.height != impl.tip_record.height + 1 || header.parent != impl.tip_record.hash) {
        return failure(ChainError::bad_block, "the block does not follow the tip");
    }
    const CommitPlan plan = plan_commit(impl.store, outcome, impl.tip_record, impl.options);
    impl.writing = header.height;  // before the write: from now on readers look for undo records
    impl.forget(plan.tip);
    if (const auto written = impl.store.write(plan.batch, true); !written) {
        impl.failed = true;
        return failure(ChainError::store_failed, written.error().message);
    }
    impl.pages.take_over(outcome.pages);
    impl.publish(plan.tip, outcome.block);
    return Unit{};
}

}  // namespace retrace::ledger
