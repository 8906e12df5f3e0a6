// SPDX-License-Identifier: MIT
#include "node/server/open_chain.hpp"

#include "ledger/storage/rocks_store.hpp"
#include "node/server/config/dev_chain.hpp"

namespace retrace::node {
namespace {

/// The configured genesis; nullopt if none is configured, so that the stored one is used.
Result<std::optional<ledger::Genesis>> wanted_genesis(const Config& config, const Rules& rules) {
    if (!config.genesis.empty()) {
        RETRACE_TRY(genesis, load_genesis(config.genesis, rules.encode_genesis));
        return std::optional<ledger::Genesis>(std::move(genesis));
    }
    if (config.dev) return std::optional<ledger::Genesis>(dev_genesis(rules.dev_genesis));
    return std::optional<ledger::Genesis>();
}

Result<ledger::Genesis> any_genesis(const Config& config, const Rules& rules, const DataDir& data) {
    RETRACE_TRY(wanted, wanted_genesis(config, rules));
    RETRACE_TRY(kept, data.genesis());
    if (!kept && !wanted) {
        return error(config.data_dir + ": a new data directory needs --genesis FILE, or --dev for a developer chain");
    }
    if (!kept) {
        RETRACE_CHECK(data.keep_genesis(*wanted));
        return *std::move(wanted);
    }
    if (wanted && ledger::genesis_hash(*wanted) != ledger::genesis_hash(*kept)) {
        return error(config.data_dir + ": the data directory belongs to another chain (chain id " +
                     std::to_string(kept->chain_id) + "); choose another --data-dir");
    }
    return *std::move(kept);
}

}  // namespace

Result<ledger::Genesis> open_genesis(const Config& config, const Rules& rules, const DataDir& data) {
    RETRACE_TRY(genesis, any_genesis(config, rules, data));
    if (genesis.chain_id == kDevChainId) RETRACE_CHECK(check_published_keys(config));
    return genesis;
}

Result<std::unique_ptr<ledger::Store>> open_store(const DataDir& data) {
    auto store = ledger::open_rocks_store(data.file("db"));
    if (!store) return error(store.error().message);
    return std::move(store).value();
}

Result<std::unique_ptr<ledger::Store>> open_auctions(const DataDir& data) {
    constexpr std::size_t kCache = std::size_t{1} << 20;
    auto store = ledger::open_rocks_store(data.file("auctions"), kCache);
    if (!store)
        return error(store.error().message +
                     " (the folder holds the reasons of ended auctions only: it may be deleted)");
    return std::move(store).value();
}

ledger::ChainOptions chain_options(const Config& config) {
    ledger::ChainOptions options;
    options.state_window = config.storage.archive ? ~std::uint64_t{0} : config.storage.keep_states;
    options.block_window = config.storage.archive ? 0 : config.storage.keep_blocks;
    return options;
}

}  // namespace retrace::node
