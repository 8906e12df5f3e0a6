// SPDX-License-Identifier: MIT
// A state in files, so that a new node need not execute all past blocks. SPEC 8.
//
// A folder holds `manifest`, `block` (the block of the state) and the entries in `000000`, `000001`, …. None of it is
// trusted: the manifest's header must have the hash that the importer was given, and the state tree built from the
// entries must have the root in that header.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

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
    std::function<bool()> stop;                      ///< Asked before each chunk; true ends the export (`stopped`).
};
/// Writes the state after block `height` (within the window) into a new folder. An interrupted export leaves a folder
/// with the ending `.partial`, which the next export replaces. No block may be committed meanwhile: the store of a
/// running chain is frozen (`Store::frozen`).
Result<SnapshotManifest, ChainFailure> export_snapshot(const Store& store, const Genesis& genesis, std::uint64_t height,
                                                       const std::filesystem::path& folder,
                                                       const ExportOptions& options = {});

struct Imported {
    std::uint64_t height = 0;
    std::uint64_t accounts = 0, slots = 0;
};
/// Fills an empty store with the parts of a snapshot, in their order: part 0 is the block, the others are the chunks. An
/// import that is interrupted at any point leaves a store that Chain::open refuses and that the next import fills anew.
class SnapshotImport {
public:
    /// Clears the remains of an interrupted import. `trusted` is the hash of the snapshot's block, from a source that the
    /// operator trusts. Errors: a manifest of another chain or block, a store that holds a chain.
    static Result<SnapshotImport, ChainFailure> begin(Store& store, const Genesis& genesis, SnapshotManifest manifest,
                                                      const Hash32& trusted);
    SnapshotImport(SnapshotImport&&) noexcept;
    ~SnapshotImport();

    std::size_t parts() const noexcept { return 1 + manifest_.chunks.size(); }
    std::size_t next() const noexcept { return next_; }  ///< Part that is added next; `parts()` after the last one.
    /// Whether the bytes are the ones that the manifest promises as the next part.
    bool is_next(View part) const;
    /// Adds the next part. With the last one the state is compared with its root. After an Error the import is over.
    Status<ChainFailure> add(View part);
    /// Makes the store a chain. Every part was added.
    Result<Imported, ChainFailure> finish(const TxExecutor& executor);

private:
    struct Progress;
    SnapshotImport(const Genesis& genesis, SnapshotManifest manifest, std::unique_ptr<Progress> progress);

    const Genesis* genesis_;
    SnapshotManifest manifest_;
    std::size_t next_ = 0;
    std::unique_ptr<Progress> progress_;
};

/// Fills an empty store from a folder; see SnapshotImport.
Result<Imported, ChainFailure> import_snapshot(Store& store, const Genesis& genesis, const TxExecutor& executor,
                                               const std::filesystem::path& folder, const Hash32& trusted);

}  // namespace retrace::ledger
