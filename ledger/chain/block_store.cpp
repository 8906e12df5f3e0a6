// SPDX-License-Identifier: MIT
#include "ledger/chain/block_store.hpp"

#include <algorithm>

#include "ledger/chain/keys.hpp"

namespace retrace::ledger {

void put_block(Batch& batch, const Block& block) {
    const std::uint64_t height = block.header.height;
    batch.put(keys::block(height), encode(BlockRecord{.hash = block.hash,
                                                      .header = block.header,
                                                      .encoded_size = block.encoded_size,
                                                      .system_logs = block.system_logs}));
    batch.put(keys::block_hash(block.hash), keys::be64(height));
    batch.put(keys::bloom(height), Bytes(block.bloom.begin(), block.bloom.end()));
    std::uint64_t log_index = block.system_logs.size();
    for (std::uint32_t i = 0; i < block.txs.size(); ++i) {
        batch.put(keys::tx(height, i), encode_tx_record(block.txs[i], block.receipts[i], log_index));
        // 5.3.3: one without effect is found by its place only, so that a faulty proposer who repeats a transaction
        // does not put a failure in the place of its receipt.
        if (block.receipts[i].gas_used != 0) batch.put(keys::tx_hash(block.txs[i].hash), keys::be64_32(height, i));
        log_index += block.receipts[i].logs.size();
    }
}

void erase_block(Batch& batch, const Store& store, std::uint64_t height) {
    if (const auto record = load_block_record(store, height)) batch.erase(keys::block_hash(record->hash));
    const Bytes prefix = keys::tx_prefix(height);
    store.scan(prefix, prefix, ~std::size_t{0}, [&](View key, View value) {
        if (const auto tx = decode_tx_record(value)) {
            const auto place = store.get(keys::tx_hash(tx->tx.hash));
            if (place && place->size() == 12 && keys::read_be64(*place) == height)
                batch.erase(keys::tx_hash(tx->tx.hash));
        }
        batch.erase(to_bytes(key));
        return true;
    });
    batch.erase(keys::bloom(height));
    batch.erase(keys::block(height));
}

std::optional<BlockRecord> load_block_record(const Store& store, std::uint64_t height) {
    const auto bytes = store.get(keys::block(height));
    return bytes ? decode_block_record(*bytes) : std::nullopt;
}

std::shared_ptr<const Block> load_block(const Store& store, std::uint64_t height) {
    auto record = load_block_record(store, height);
    const auto bloom = load_bloom(store, height);
    if (!record || !bloom) return nullptr;
    auto block = std::make_shared<Block>();
    block->hash = record->hash;
    block->header = record->header;
    block->system_logs = std::move(record->system_logs);
    block->encoded_size = record->encoded_size;
    block->bloom = *bloom;
    if (record->header.tx_count == 0) return block;  // a scan costs more than all the rest
    const Bytes prefix = keys::tx_prefix(height);
    store.scan(prefix, prefix, record->header.tx_count, [&](View, View value) {
        auto tx = decode_tx_record(value);
        if (!tx) return false;
        block->txs.push_back(std::move(tx->tx));
        block->receipts.push_back(std::move(tx->receipt));
        return true;
    });
    return block->txs.size() == record->header.tx_count ? block : nullptr;
}

std::optional<Bloom> load_bloom(const Store& store, std::uint64_t height) {
    const auto bytes = store.get(keys::bloom(height));
    Bloom bloom;
    if (!bytes || bytes->size() != bloom.size()) return std::nullopt;
    std::copy(bytes->begin(), bytes->end(), bloom.begin());
    return bloom;
}

std::optional<std::uint64_t> load_height(const Store& store, const Hash32& block_hash) {
    const auto bytes = store.get(keys::block_hash(block_hash));
    if (!bytes || bytes->size() != 8) return std::nullopt;
    return keys::read_be64(*bytes);
}

std::optional<TxRecord> load_tx(const Store& store, std::uint64_t height, std::uint32_t index) {
    const auto bytes = store.get(keys::tx(height, index));
    auto record = bytes ? decode_tx_record(*bytes) : std::nullopt;
    if (record) {
        record->height = height;
        record->index = index;
    }
    return record;
}

std::optional<TxRecord> load_tx(const Store& store, const Hash32& tx_hash) {
    const auto place = store.get(keys::tx_hash(tx_hash));
    if (!place || place->size() != 12) return std::nullopt;
    auto record = load_tx(store, keys::read_be64(*place), keys::read_be32(*place, 8));
    // A block that was undone after a torn write may have left an index entry that points at another transaction.
    if (record && record->tx.hash != tx_hash) return std::nullopt;
    return record;
}

}  // namespace retrace::ledger
