// SPDX-License-Identifier: MIT
#include "ledger/snapshot/snapshot_file.hpp"

namespace retrace::ledger {

Result<Imported, ChainFailure> import_snapshot(Store& store, const Genesis& genesis, const TxExecutor& executor,
                                               const std::filesystem::path& folder, const Hash32& trusted) {
    if (const auto good = check(genesis); !good)
        return Unexpected{ChainFailure{ChainError::bad_genesis, good.error().message}};
    RETRACE_TRY(manifest, read_manifest(folder));
    if (manifest.genesis != genesis_hash(genesis))
        return Unexpected{ChainFailure{ChainError::other_chain, "the snapshot is of another chain"}};
    if (block_hash(manifest.header) != trusted)
        return bad_snapshot("the snapshot's block is " + to_0x(view(block_hash(manifest.header))) +
                            ", not the one that is trusted");
    RETRACE_TRY(block_bytes, read_snapshot_file(folder / kBlockFile, manifest.block));
    RETRACE_TRY(block, decode_block_file(block_bytes, manifest.header, genesis.chain_id));
    RETRACE_TRY(builder, StateBuilder::begin(store));
    for (std::size_t i = 0; i < manifest.chunks.size(); ++i) {
        RETRACE_TRY(bytes, read_snapshot_file(folder / chunk_name(i), manifest.chunks[i]));
        RETRACE_TRY(entries, decode_entries(bytes));
        RETRACE_CHECK(builder.add(entries));
    }
    RETRACE_CHECK(builder.finish(genesis, executor, *block));
    return Imported{manifest.header.height, builder.accounts(), builder.slots()};
}

}  // namespace retrace::ledger
