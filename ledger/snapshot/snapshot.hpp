// SPDX-License-Identifier: MIT
// A state in files, so that a new node need not execute all past blocks. SPEC 8.
//
// A folder holds `manifest`, `block` (the block of the state) and the entries in `000000`, `000001`, …. None of it is
// trusted: the manifest's header must have the hash that the importer was given, and the state tree built from the
// entries must have the root in that header.
#pragma once

#include <filesystem>

#include "ledger/chain/chain.hpp"

namespace retrace::ledger {

struct SnapshotFile {
    Hash32 digest;  ///< SHA-256 of the file.
    std::uint64_t bytes = 0;
};
struct SnapshotManifest {
    Hash32 genesis;  ///< Genesis hash; identifies the chain.
    Header header;
    SnapshotFile block;
    std::vector<SnapshotFile> chunks;
};
inline constexpr std::size_t kSnapshotChunksMax = 1U << 20;
inline constexpr std::size_t kSnapshotFileMax = std::size_t{64} << 20;

Bytes encode(const SnapshotManifest& manifest);
Result<SnapshotManifest, CodecError> decode_manifest(View bytes);
/// SHA-256("retrace/snapshot/1" ‖ manifest): identifies the whole folder.
Hash32 snapshot_root(const SnapshotManifest& manifest);
/// Reads the manifest of a folder; bad_snapshot if it is missing or does not decode.
Result<SnapshotManifest, ChainFailure> read_manifest(const std::filesystem::path& folder);

struct ExportOptions {
    std::size_t chunk_bytes = std::size_t{1} << 20;  ///< A chunk ends with the entry that exceeds this.
};
/// Writes the state after block `height` (within the window) into a new folder. An interrupted export leaves a folder
/// with the ending `.partial`, which the next export replaces. No block may be committed meanwhile.
Result<SnapshotManifest, ChainFailure> export_snapshot(const Store& store, const Genesis& genesis, std::uint64_t height,
                                                       const std::filesystem::path& folder,
                                                       const ExportOptions& options = {});

struct Imported {
    std::uint64_t height = 0;
    std::uint64_t accounts = 0, slots = 0;
};
/// Fills an empty store. `trusted` is the hash of the block, from a source that the operator trusts. An import that is
/// interrupted at any point leaves a store that Chain::open refuses and that the next import fills anew.
Result<Imported, ChainFailure> import_snapshot(Store& store, const Genesis& genesis, const TxExecutor& executor,
                                               const std::filesystem::path& folder, const Hash32& trusted);

}  // namespace retrace::ledger
