// SPDX-License-Identifier: MIT
#include "ledger/snapshot/snapshot_file.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::ledger {

struct SnapshotImport::Progress {
    StateBuilder builder;
    std::shared_ptr<const Block> block;
};

SnapshotImport::SnapshotImport(const Genesis& genesis, SnapshotManifest manifest, std::unique_ptr<Progress> progress)
    : genesis_(&genesis), manifest_(std::move(manifest)), progress_(std::move(progress)) {}
SnapshotImport::SnapshotImport(SnapshotImport&&) noexcept = default;
SnapshotImport::~SnapshotImport() = default;

Result<SnapshotImport, ChainFailure> SnapshotImport::begin(Store& store, const Genesis& genesis,
                                                           SnapshotManifest manifest, const Hash32& trusted) {
    if (const auto good = check(genesis); !good)
        return Unexpected{ChainFailure{ChainError::bad_genesis, good.error().message}};
    if (manifest.genesis != genesis_hash(genesis))
        return Unexpected{ChainFailure{ChainError::other_chain, "the snapshot is of another chain"}};
    if (block_hash(manifest.header) != trusted)
        return bad_snapshot("the snapshot's block is " + to_0x(view(block_hash(manifest.header))) +
                            ", not the one that is trusted");
    RETRACE_TRY(builder, StateBuilder::begin(store));
    return SnapshotImport(genesis, std::move(manifest), std::make_unique<Progress>(Progress{std::move(builder), {}}));
}

bool SnapshotImport::is_next(View part) const {
    if (next_ == parts()) return false;
    const SnapshotFile& promised = next_ == 0 ? manifest_.block : manifest_.chunks[next_ - 1];
    return part.size() == promised.bytes && merkle::sha256(part) == promised.digest;
}

Status<ChainFailure> SnapshotImport::add(View part) {
    if (!is_next(part)) return bad_snapshot("part " + std::to_string(next_) + " is not what the manifest says");
    if (next_ == 0) {
        RETRACE_TRY(block, decode_block_file(part, manifest_.header, genesis_->chain_id));
        progress_->block = block;
    } else {
        RETRACE_TRY(entries, decode_entries(part));
        RETRACE_CHECK(progress_->builder.add(entries));
    }
    ++next_;
    if (next_ == parts() && progress_->builder.root() != manifest_.header.state_root)
        return bad_snapshot("the state is not the one that block " + std::to_string(manifest_.header.height) +
                            " commits to");
    return Unit{};
}

Result<Imported, ChainFailure> SnapshotImport::finish(const TxExecutor& executor) {
    ensure(next_ == parts(), "an import is finished with its last part");
    const StateBuilder& builder = progress_->builder;
    RETRACE_CHECK(progress_->builder.finish(*genesis_, executor, *progress_->block));
    return Imported{manifest_.header.height, builder.accounts(), builder.slots()};
}

Result<Imported, ChainFailure> import_snapshot(Store& store, const Genesis& genesis, const TxExecutor& executor,
                                               const std::filesystem::path& folder, const Hash32& trusted) {
    RETRACE_TRY(manifest, read_manifest(folder));
    RETRACE_TRY(incoming, SnapshotImport::begin(store, genesis, manifest, trusted));
    RETRACE_TRY(block, read_snapshot_file(folder / kBlockFile, manifest.block));
    RETRACE_CHECK(incoming.add(block));
    for (std::size_t i = 0; i < manifest.chunks.size(); ++i) {
        RETRACE_TRY(bytes, read_snapshot_file(folder / chunk_name(i), manifest.chunks[i]));
        RETRACE_CHECK(incoming.add(bytes));
    }
    return incoming.finish(executor);
}

}  // namespace retrace::ledger
