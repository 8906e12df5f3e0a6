// SPDX-License-Identifier: MIT
// Records of the data base that are more than one value. Decoding is strict: a record that does not decode is
// damage.
#pragma once

#include <optional>
#include <set>

#include "ledger/chain/chain.hpp"
#include "ledger/chain/tree_nodes.hpp"

namespace retrace::ledger {

/// Under keys::format; another one is refused. It rises with the shape of the records and with the rules of the ledger
/// and of the contracts: blocks of other rules are not to be executed again by these.
inline constexpr std::uint8_t kFormatVersion = 5;

/// Under keys::tip.
struct TipRecord {
    std::uint64_t height = 0;
    Hash32 hash;
    std::uint64_t oldest_state = 0;  ///< Undo records of the heights above this one are there.
    std::uint64_t oldest_pages = 0;  ///< The same for the pages of the state tree.
    std::uint64_t oldest_block = 0;  ///< Blocks below it are gone, except block 0.
};
Bytes encode(const TipRecord& record);
std::optional<TipRecord> decode_tip(View bytes);

/// Under keys::block: a block without its transactions and bloom.
struct BlockRecord {
    Hash32 hash;
    Header header;
    std::uint64_t encoded_size = 0;
    std::vector<Log> system_logs;
};
Bytes encode(const BlockRecord& record);
std::optional<BlockRecord> decode_block_record(View bytes);

/// Under keys::tx. The sender is stored, so that reading needs no signature recovery.
Bytes encode_tx_record(const BlockTx& tx, const Receipt& receipt, std::uint64_t first_log_index);
std::optional<TxRecord> decode_tx_record(View bytes);

/// Under keys::changed.
Bytes encode_keys(const std::vector<Bytes>& keys);
std::optional<std::vector<Bytes>> decode_keys(View bytes);

/// Under keys::old_pages: the key of each page that a block changed, ascending, and the patch that takes it back.
Bytes encode_patches(const std::vector<PageChange>& pages);
Bytes encode_patches(const PagePatches& patches);
std::optional<PagePatches> decode_patches(View bytes);
/// Those of some pages; the others are gone past without a copy.
std::optional<PagePatches> select_patches(View bytes, const std::set<Bytes>& page_keys);

}  // namespace retrace::ledger
