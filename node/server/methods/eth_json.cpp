// SPDX-License-Identifier: MIT
#include "node/server/methods/eth_json.hpp"

namespace retrace::node::rpc {
namespace {

using ledger::SignedTx;
using ledger::TxType;

constexpr const char* kEmptyUncles = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
constexpr const char* kZeroHash = "0x0000000000000000000000000000000000000000000000000000000000000000";

json::array access_list_json(const std::vector<ledger::AccessEntry>& list) {
    json::array out;
    for (const ledger::AccessEntry& entry : list) {
        json::array keys;
        for (const Hash32& key : entry.keys) keys.emplace_back(data(key));
        out.push_back(json::object{{"address", data(entry.address)}, {"storageKeys", std::move(keys)}});
    }
    return out;
}

void add_place(json::object& out, const TxPlace* place) {
    if (place == nullptr) {
        out["blockHash"] = nullptr;
        out["blockNumber"] = nullptr;
        out["transactionIndex"] = nullptr;
        return;
    }
    out["blockHash"] = data(place->block_hash);
    out["blockNumber"] = quantity(place->height);
    out["transactionIndex"] = quantity(place->index);
}

void add_fees(json::object& out, const ledger::Transaction& tx, const TxPlace* place) {
    out["type"] = quantity(static_cast<std::uint64_t>(tx.type));
    out["chainId"] = quantity(tx.chain_id);
    if (tx.type == TxType::dynamic_fee) {
        out["maxFeePerGas"] = quantity(tx.fee_cap);
        out["maxPriorityFeePerGas"] = quantity(tx.tip_cap);
    }
    out["gasPrice"] = quantity(place != nullptr ? place->effective_gas_price : tx.fee_cap);
    if (tx.type != TxType::legacy) out["accessList"] = access_list_json(tx.access_list);
}

void add_signature(json::object& out, const SignedTx& tx) {
    const std::uint64_t parity = tx.signature.y_parity;
    const bool legacy = tx.tx.type == TxType::legacy;
    out["v"] = quantity(legacy ? 35 + 2 * tx.tx.chain_id + parity : parity);
    if (!legacy) out["yParity"] = quantity(parity);
    out["r"] = quantity(ledger::U256::from_be(view(tx.signature.r)));
    out["s"] = quantity(ledger::U256::from_be(view(tx.signature.s)));
}

json::array topics_json(const ledger::Log& log) {
    json::array topics;
    for (const Hash32& topic : log.topics) topics.emplace_back(data(topic));
    return topics;
}

/// Placeholder for bytes in a block that are no transaction.
const SignedTx& unreadable_tx() {
    static const SignedTx tx{};
    return tx;
}

}  // namespace

json::object header_json(const ledger::Block& block) {
    const ledger::Header& h = block.header;
    return {{"number", quantity(h.height)},
            {"hash", data(block.hash)},
            {"parentHash", data(h.parent)},
            {"timestamp", quantity(h.time_s())},
            {"gasLimit", quantity(h.gas_limit)},
            {"gasUsed", quantity(h.gas_used)},
            {"baseFeePerGas", quantity(h.base_fee)},
            {"miner", data(h.proposer)},
            {"stateRoot", data(h.state_root)},
            {"transactionsRoot", data(h.tx_root)},
            {"receiptsRoot", data(h.results_root)},
            {"logsBloom", data(View(block.bloom))},
            {"sha3Uncles", kEmptyUncles},
            {"difficulty", "0x0"},
            {"totalDifficulty", "0x0"},
            {"extraData", "0x"},
            {"mixHash", kZeroHash},
            {"nonce", "0x0000000000000000"}};
}

json::object block_json(const ledger::Block& block, bool full_txs) {
    json::object out = header_json(block);
    json::array txs;
    txs.reserve(block.txs.size());
    for (std::uint32_t i = 0; i < block.txs.size(); ++i) {
        if (full_txs) {
            const TxPlace place{block.hash, block.header.height, i, block.receipts[i].effective_gas_price};
            txs.emplace_back(tx_json(block.txs[i], &place));
        } else {
            txs.emplace_back(data(block.txs[i].hash));
        }
    }
    out["transactions"] = std::move(txs);
    out["uncles"] = json::array();
    out["size"] = quantity(block.encoded_size);
    return out;
}

json::object tx_json(const SignedTx& tx, const TxPlace* place) {
    json::object out{{"hash", data(tx.hash)},          {"nonce", quantity(tx.tx.nonce)},
                     {"from", data(tx.sender)},        {"gas", quantity(tx.tx.gas_limit)},
                     {"value", quantity(tx.tx.value)}, {"input", data(View(tx.tx.data))}};
    out["to"] = tx.tx.to ? json::value(data(*tx.tx.to)) : json::value(nullptr);
    add_place(out, place);
    add_fees(out, tx.tx, place);
    add_signature(out, tx);
    return out;
}

json::object tx_json(const ledger::BlockTx& tx, const TxPlace* place) {
    if (tx.tx) return tx_json(*tx.tx, place);
    json::object out = tx_json(unreadable_tx(), place);
    out["hash"] = data(tx.hash);
    return out;
}

json::object log_json(const ledger::LogEntry& entry) {
    return {{"address", data(entry.log.address)},     {"topics", topics_json(entry.log)},
            {"data", data(View(entry.log.data))},     {"blockNumber", quantity(entry.height)},
            {"blockHash", data(entry.block_hash)},    {"blockTimestamp", quantity(entry.time_s)},
            {"transactionHash", data(entry.tx_hash)}, {"transactionIndex", quantity(entry.tx_index)},
            {"logIndex", quantity(entry.log_index)},  {"removed", false}};
}

json::array logs_json(const std::vector<ledger::LogEntry>& entries) {
    json::array out;
    out.reserve(entries.size());
    for (const ledger::LogEntry& entry : entries) out.emplace_back(log_json(entry));
    return out;
}

json::object receipt_json(const ledger::BlockTx& block_tx, const ledger::Receipt& receipt, const ReceiptPlace& place) {
    const SignedTx& tx = block_tx.tx ? *block_tx.tx : unreadable_tx();
    ledger::Bloom bloom{};
    json::array logs;
    for (std::size_t i = 0; i < receipt.logs.size(); ++i) {
        add_to_bloom(bloom, receipt.logs[i]);
        logs.emplace_back(log_json({receipt.logs[i], place.height, place.block_hash, place.time_s, block_tx.hash,
                                    place.index, place.first_log_index + i}));
    }
    json::object out{{"transactionHash", data(block_tx.hash)},
                     {"transactionIndex", quantity(place.index)},
                     {"blockHash", data(place.block_hash)},
                     {"blockNumber", quantity(place.height)},
                     {"from", data(tx.sender)},
                     {"contractAddress", nullptr},
                     {"cumulativeGasUsed", quantity(receipt.cumulative_gas)},
                     {"gasUsed", quantity(receipt.gas_used)},
                     {"effectiveGasPrice", quantity(receipt.effective_gas_price)},
                     {"logs", std::move(logs)},
                     {"logsBloom", data(View(bloom))},
                     {"status", receipt.success ? "0x1" : "0x0"},
                     {"type", quantity(static_cast<std::uint64_t>(tx.tx.type))}};
    out["to"] = tx.tx.to ? json::value(data(*tx.tx.to)) : json::value(nullptr);
    if (!receipt.success) {
        out["revertReason"] = data(View(receipt.output));
        out["error"] = receipt.revert_reason;
    }
    return out;
}

json::array receipts_json(const ledger::Block& block) {
    json::array out;
    ReceiptPlace place{block.hash, block.header.height, block.header.time_s(), 0, block.system_logs.size()};
    for (std::uint32_t i = 0; i < block.txs.size(); ++i) {
        place.index = i;
        out.emplace_back(receipt_json(block.txs[i], block.receipts[i], place));
        place.first_log_index += block.receipts[i].logs.size();
    }
    return out;
}

}  // namespace retrace::node::rpc
