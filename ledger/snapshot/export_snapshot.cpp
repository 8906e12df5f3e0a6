// SPDX-License-Identifier: MIT
#include "ledger/chain/block_store.hpp"
#include "ledger/snapshot/snapshot_file.hpp"
#include "merkle/base/durable_file.hpp"

namespace retrace::ledger {
namespace {

namespace fs = std::filesystem;

Status<ChainFailure> write_chunks(const Store& store, std::uint64_t height, const fs::path& folder,
                                  const ExportOptions& options, SnapshotManifest& manifest) {
    Writer chunk;
    Status<ChainFailure> outcome = Unit{};
    const auto flush = [&] {
        if (options.stop && options.stop()) {
            outcome = Unexpected{ChainFailure{ChainError::stopped, "the export was stopped"}};
            return false;
        }
        const auto file = write_snapshot_file(folder / chunk_name(manifest.chunks.size()), chunk.data());
        if (file)
            manifest.chunks.push_back(*file);
        else
            outcome = Unexpected{file.error()};
        chunk = Writer();
        return outcome.has_value();
    };
    RETRACE_CHECK(visit_state(store, height, [&](View key, View value) {
        append_entry(chunk, key, value);
        return chunk.data().size() < options.chunk_bytes || flush();
    }));
    if (outcome && !chunk.data().empty()) flush();
    return outcome;
}

}  // namespace

Result<SnapshotManifest, ChainFailure> export_snapshot(const Store& store, const Genesis& genesis, std::uint64_t height,
                                                       const fs::path& folder, const ExportOptions& options) {
    if (fs::exists(folder)) return bad_snapshot(folder.string() + ": is there already");
    const auto block = load_block(store, height);
    if (!block)
        return Unexpected{ChainFailure{ChainError::not_kept, "block " + std::to_string(height) + " is not kept"}};
    const fs::path partial = folder.string() + ".partial";
    std::error_code failed;
    fs::remove_all(partial, failed);
    if (!fs::create_directories(partial, failed))
        return bad_snapshot(partial.string() + ": cannot be made: " + failed.message());
    SnapshotManifest manifest;
    manifest.genesis = genesis_hash(genesis);
    manifest.header = block->header;
    RETRACE_TRY(block_file, write_snapshot_file(partial / kBlockFile, encode_block_file(*block)));
    manifest.block = block_file;
    RETRACE_CHECK(write_chunks(store, height, partial, options, manifest));
    RETRACE_CHECK(write_snapshot_file(partial / kManifestFile, encode(manifest)));
    fs::rename(partial, folder, failed);
    if (failed) return bad_snapshot(folder.string() + ": " + failed.message());
    if (const auto synced = sync_folder(fs::absolute(folder).parent_path()); !synced)
        return bad_snapshot(synced.error().message);
    return manifest;
}

}  // namespace retrace::ledger
