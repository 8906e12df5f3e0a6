// SPDX-License-Identifier: MIT
// The store on disk: RocksDB behind a plain header. Target retrace_rocks.
#pragma once

#include <string>

#include "ledger/storage/store.hpp"

namespace retrace::ledger {

enum class StoreError : std::uint8_t {
    in_use = 1,     ///< Another process holds the directory's lock.
    no_access = 2,  ///< The directory cannot be created, read or written.
    corrupt = 3,    ///< RocksDB found broken files.
    other = 4,
};

struct StoreFailure {
    StoreError code{};
    std::string message;  ///< Names the directory and the remedy.
};

/// Opens or creates the store in `directory` and locks it until the store is destroyed. `cache_bytes` limits the block
/// cache, which fills with use; write buffers take up to 64 MiB more under load.
Result<std::unique_ptr<Store>, StoreFailure> open_rocks_store(const std::string& directory,
                                                              std::size_t cache_bytes = 128U << 20);

/// Reads every table file of the store in `directory` and verifies its checksums, without changing or locking it. A
/// damaged page is an error that names its file; reading it in use would end the process.
Status<StoreFailure> check_rocks_pages(const std::string& directory);

}  // namespace retrace::ledger
