// SPDX-License-Identifier: MIT
// Composite records of the database. Decoding is strict: a record that does not decode counts as damage.
#pragma once

#include <optional>
#include <set>

#include "ledger/chain/chain.hpp"
#include "ledger/chain/tree_nodes.hpp"

namespace retrace::ledger {

/// Stored under keys::format; any other version is refused. It is raised when the shape of the records or the rules of
/// the ledger or of the contracts change: these rules must not re-execute blocks of other rules.
inline constexpr std::uint8_t kFormatVersion = 12;

/// Stored under keys::tip.
struct TipRecord {
    std::uint64_t height = 0;
    Hash32 hash;
    std::uint64_t oldest_state = 0;  ///< Undo records exist for the heights above this one.
    std::uint64_t oldest_pages = 0;  ///< The same for the pages of the state tree.
    std::uint64_t oldest_block = 0;  ///< Blocks below it are erased, except block 0.
};
Bytes encode(const TipRecord& record);
std::optional<TipRecord> decode_tip(View bytes);

/// Stored under keys::block: a block without its transactions and bloom.
struct BlockRecord {
    Hash32 hash;
    Header header;
    std::uint64_t encoded_size = 0;
    std::vector<Log> system_logs;
};
Bytes encode(const BlockRecord& record);
std::optional<BlockRecord> decode_block_record(View bytes);

/// Stored under keys::tx. It includes the sender, so that reading needs no signature recovery.
Bytes encode_tx_record(const BlockTx& tx, const Receipt& receipt, std::uint64_t first_log_index);
std::optional<TxRecord> decode_tx_record(View bytes);

/// Stored under keys::changed.
Bytes encode_keys(const std::vector<Bytes>& keys);
std::optional<std::vector<Bytes>> decode_keys(View bytes);

/// Stored under keys::old_pages: the key of each page that a block changed, ascending, with its undo patch.
Bytes encode_patches(const std::vector<PageChange>& pages);
Bytes encode_patches(const PagePatches& patches);
std::optional<PagePatches> decode_patches(View bytes);
/// Decodes the patches of some pages and skips the others without a copy.
std::optional<PagePatches> select_patches(View bytes, const std::set<Bytes>& page_keys);

}  // namespace retrace::ledger
