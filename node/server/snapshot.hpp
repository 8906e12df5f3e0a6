// SPDX-License-Identifier: MIT
// Snapshots of a data directory whose node is stopped.
#pragma once

#include "ledger/snapshot/snapshot.hpp"
#include "node/server/open_chain.hpp"

namespace retrace::node {

/// Exports the state after block `height` (default: the last block) into a new folder.
Result<ledger::SnapshotManifest> export_data(const Config& config, const Rules& rules,
                                             std::optional<std::uint64_t> height, const std::string& folder);

/// Fills a new data directory from a snapshot. `trusted` is the expected hash of the snapshot's block.
Result<ledger::Imported> import_data(const Config& config, const Rules& rules, const std::string& folder,
                                     const Hash32& trusted);

}  // namespace retrace::node
