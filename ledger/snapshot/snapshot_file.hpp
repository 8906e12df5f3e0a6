// SPDX-License-Identifier: MIT
// The single files of a snapshot; shared by export and import.
#pragma once

#include "ledger/snapshot/snapshot.hpp"
#include "ledger/snapshot/state_entries.hpp"

namespace retrace::ledger {

inline constexpr const char* kManifestFile = "manifest";
inline constexpr const char* kBlockFile = "block";
/// "000017"
std::string chunk_name(std::size_t index);

Bytes encode_block_file(const Block& block);
/// Decodes a block and checks it against `header`: hash, transactions and results must be those that it commits to.
Result<std::shared_ptr<const Block>, ChainFailure> decode_block_file(View bytes, const Header& header,
                                                                     std::uint64_t chain_id);

void append_entry(Writer& out, View key, View value);
Result<std::vector<Entry>, ChainFailure> decode_entries(View bytes);

/// Writes, syncs and closes a file.
Result<SnapshotFile, ChainFailure> write_snapshot_file(const std::filesystem::path& path, View bytes);
/// Returns the whole file if it has the promised length and digest.
Result<Bytes, ChainFailure> read_snapshot_file(const std::filesystem::path& path, const SnapshotFile& promised);

inline Unexpected<ChainFailure> bad_snapshot(const std::string& what) {
    return {ChainFailure{ChainError::bad_snapshot, what}};
}

}  // namespace retrace::ledger
