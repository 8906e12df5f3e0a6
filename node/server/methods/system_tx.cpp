// SPDX-License-Identifier: MIT
#include "node/server/methods/system_tx.hpp"

#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

/// A transaction with zero sender, recipient, value and gas.
ledger::BlockTx system_tx(const ledger::Block& block) {
    auto tx = std::make_shared<ledger::SignedTx>();
    tx->tx.type = ledger::TxType::legacy;
    tx->tx.to = ledger::Address{};
    tx->hash = block.hash;
    return {block.hash, {}, std::move(tx)};
}

TxPlace place_of(const ledger::Block& block) {
    return {block.hash, block.header.height, static_cast<std::uint32_t>(block.txs.size()), {}};
}

}  // namespace

json::object system_tx_json(const ledger::Block& block, std::uint64_t chain_id) {
    const TxPlace place = place_of(block);
    json::object out = tx_json(system_tx(block), &place);
    out["chainId"] = quantity(chain_id);
    out["v"] = "0x0";  // like r and s, because it has no signature
    return out;
}

json::object system_receipt_json(const ledger::Block& block) {
    ledger::Receipt receipt;
    receipt.success = true;
    receipt.cumulative_gas = block.header.gas_used;
    receipt.logs = block.system_logs;
    const TxPlace place = place_of(block);
    return receipt_json(system_tx(block), receipt,
                        {place.block_hash, place.height, block.header.time_s(), place.index, 0});
}

Checked<std::shared_ptr<const ledger::Block>> find_system_tx(const Backend& backend, Caller& caller,
                                                             const Hash32& hash) {
    using BlockPtr = std::shared_ptr<const ledger::Block>;
    const auto height = backend.chain.height_of(hash);
    if (!height) return BlockPtr();
    const auto bloom = backend.chain.bloom(*height);
    if (!bloom || *bloom == ledger::Bloom{}) return BlockPtr();  // no logs at all
    const std::uint64_t work = backend.chain.block_work(*height);
    if (work == 0) return BlockPtr();
    RETRACE_CHECK(caller.spend(work));
    BlockPtr block = backend.chain.block(*height);
    if (block && !has_system_tx(*block)) block = nullptr;
    return block;
}

void weigh_system_txs(Router& router, const Backend& backend) {
    for (const char* name : {"eth_getTransactionByHash", "eth_getTransactionReceipt"}) {
        router.set_cost(name, [&backend](const json::array& params) {
            const auto hash = params.empty() ? Parsed<Hash32>(Unexpected<std::string>{""}) : parse_hash(params[0]);
            return hash && backend.chain.height_of(*hash) ? RequestCost::heavy : RequestCost::brief;
        });
    }
}

}  // namespace retrace::node::rpc
