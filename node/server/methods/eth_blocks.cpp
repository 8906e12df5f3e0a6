// SPDX-License-Identifier: MIT
#include "node/server/methods/eth_json.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/methods/system_tx.hpp"

namespace retrace::node::rpc {
namespace {

using BlockPtr = std::shared_ptr<const ledger::Block>;

/// Finds a block. nullptr: it is unknown, which is answered with null and not with an error; a pruned block is an
/// error. The charge covers the read and the conversion to JSON.
Checked<BlockPtr> find_block(const Backend& backend, Caller& caller, const BlockRef& ref) {
    if (ref.kind == BlockRef::Kind::latest || ref.kind == BlockRef::Kind::pending) {
        BlockPtr newest = backend.chain.tip();
        RETRACE_CHECK(caller.spend(newest->header.tx_count));
        return newest;
    }
    const auto height = height_of(backend, ref);
    if (!height) return BlockPtr();
    RETRACE_CHECK(check_kept(backend, *height));
    const std::uint64_t work = backend.chain.block_work(*height);
    if (work == 0) return BlockPtr();
    RETRACE_CHECK(caller.spend(work));
    return backend.chain.block(*height);
}

using ByBlock = std::function<Answer(const BlockPtr&, const Params&)>;

struct Twins {
    const char* by_number;
    const char* by_hash;
    const char* summary;
    const char* result;
    std::vector<ParamInfo> rest;  ///< Parameters after the block.
};

/// Registers two methods that name the block by number and by hash. `use` is called only with an existing block.
void add_twins(Router& router, const Backend& backend, const Twins& twins, const ByBlock& use) {
    std::vector<ParamInfo> by_number{{"block", "BlockTag"}};
    std::vector<ParamInfo> by_hash{{"hash", "Hash"}};
    by_number.insert(by_number.end(), twins.rest.begin(), twins.rest.end());
    by_hash.insert(by_hash.end(), twins.rest.begin(), twins.rest.end());
    router.add({twins.by_number, twins.summary, by_number, twins.result,
                [&backend, use](const Params& params, Caller& caller) -> Answer {
                    RETRACE_TRY(ref, params.block(0));
                    RETRACE_TRY(block, find_block(backend, caller, ref));
                    return block ? use(block, params) : Answer(json::value(nullptr));
                }});
    router.add({twins.by_hash, twins.summary, by_hash, twins.result,
                [&backend, use](const Params& params, Caller& caller) -> Answer {
                    RETRACE_TRY(hash, params.hash(0));
                    RETRACE_TRY(block, find_block(backend, caller, {BlockRef::Kind::hash, 0, hash}));
                    return block ? use(block, params) : Answer(json::value(nullptr));
                }});
}

Answer get_block(const BlockPtr& block, const Params& params) {
    bool full = false;
    if (params.has(1)) {
        RETRACE_TRY(flag, params.boolean(1));
        full = flag;
    }
    return json::value(block_json(*block, full));
}

Answer get_tx_at(const Backend& backend, const BlockPtr& block, const Params& params) {
    RETRACE_TRY(index, params.u64(1));
    if (index == block->txs.size() && has_system_tx(*block))
        return json::value(system_tx_json(*block, backend.chain_id()));
    if (index >= block->txs.size()) return json::value(nullptr);
    const TxPlace place{block->hash, block->header.height, static_cast<std::uint32_t>(index),
                        block->receipts[index].effective_gas_price};
    return json::value(tx_json(block->txs[index], &place));
}

json::array all_receipts(const ledger::Block& block) {
    json::array out = receipts_json(block);
    if (has_system_tx(block)) out.emplace_back(system_receipt_json(block));
    return out;
}

}  // namespace

void register_eth_blocks(Router& router, const Backend& backend) {
    router.add(
        {"eth_blockNumber", "Height of the last block.", {}, "Quantity", [&backend](const Params&, Caller&) -> Answer {
             return json::value(quantity(backend.chain.height()));
         }});
    // The second argument is optional (default `false`), because some clients omit it.
    add_twins(router, backend,
              {"eth_getBlockByNumber",
               "eth_getBlockByHash",
               "A block, with transaction hashes or whole transactions.",
               "Block?",
               {{"full_transactions", "Boolean", false}}},
              get_block);
    add_twins(router, backend,
              {"eth_getBlockTransactionCountByNumber",
               "eth_getBlockTransactionCountByHash",
               "Number of transactions in a block.",
               "Quantity?",
               {}},
              [](const BlockPtr& block, const Params&) -> Answer { return json::value(quantity(block->txs.size())); });
    add_twins(router, backend,
              {"eth_getUncleCountByBlockNumber", "eth_getUncleCountByBlockHash", "Always zero.", "Quantity?", {}},
              [](const BlockPtr&, const Params&) -> Answer { return json::value("0x0"); });
    add_twins(router, backend,
              {"eth_getTransactionByBlockNumberAndIndex",
               "eth_getTransactionByBlockHashAndIndex",
               "A transaction by its place.",
               "Transaction?",
               {{"index", "Quantity"}}},
              [&backend](const BlockPtr& block, const Params& params) { return get_tx_at(backend, block, params); });
    router.add({"eth_getBlockReceipts",
                "Receipts of all transactions of a block.",
                {{"block", "BlockTag"}},
                "Receipt[]?",
                [&backend](const Params& params, Caller& caller) -> Answer {
                    RETRACE_TRY(ref, params.block(0));
                    RETRACE_TRY(block, find_block(backend, caller, ref));
                    return block ? json::value(all_receipts(*block)) : json::value(nullptr);
                }});
}

}  // namespace retrace::node::rpc
