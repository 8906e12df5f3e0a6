// SPDX-License-Identifier: MIT
#include "node/server/snapshot.hpp"

namespace retrace::node {

Result<ledger::SnapshotManifest> export_data(const Config& config, const Rules& rules,
                                             std::optional<std::uint64_t> height, const std::string& folder) {
    RETRACE_CHECK(check(config));
    RETRACE_TRY(data, DataDir::open(config.data_dir));
    RETRACE_TRY(genesis, open_genesis(config, rules, *data));
    RETRACE_TRY(store, open_store(*data));
    // Opened as a chain, so that a torn write is rolled back and damage is reported before anything is copied.
    auto chain = ledger::Chain::open(*store, genesis, *rules.executor, chain_options(config));
    if (!chain) return error(config.data_dir + ": " + chain.error().message);
    auto manifest = ledger::export_snapshot(*store, genesis, height.value_or((*chain)->height()), folder);
    if (!manifest) return error(manifest.error().message);
    return std::move(*manifest);
}

Result<ledger::Imported> import_data(const Config& config, const Rules& rules, const std::string& folder,
                                     const Hash32& trusted) {
    RETRACE_CHECK(check(config));
    RETRACE_TRY(data, DataDir::open(config.data_dir));
    RETRACE_TRY(genesis, open_genesis(config, rules, *data));
    RETRACE_TRY(store, open_store(*data));
    const auto imported = ledger::import_snapshot(*store, genesis, *rules.executor, folder, trusted);
    if (!imported) return error(config.data_dir + ": " + imported.error().message);
    return *imported;
}

}  // namespace retrace::node
