// SPDX-License-Identifier: MIT
// Blocks, their transactions and indexes in the database.
#pragma once

#include "ledger/chain/records.hpp"

namespace retrace::ledger {

void put_block(Batch& batch, const Block& block);
/// Erases everything that `put_block` wrote for a height.
void erase_block(Batch& batch, const Store& store, std::uint64_t height);

std::optional<BlockRecord> load_block_record(const Store& store, std::uint64_t height);
/// nullptr: absent or damaged (it has fewer transactions than its record says).
std::shared_ptr<const Block> load_block(const Store& store, std::uint64_t height);
std::optional<Bloom> load_bloom(const Store& store, std::uint64_t height);
std::optional<std::uint64_t> load_height(const Store& store, const Hash32& block_hash);
std::optional<TxRecord> load_tx(const Store& store, std::uint64_t height, std::uint32_t index);
std::optional<TxRecord> load_tx(const Store& store, const Hash32& tx_hash);

}  // namespace retrace::ledger
