// SPDX-License-Identifier: MIT
#include "node/server/node.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "ledger/storage/rocks_store.hpp"
#include "market/validator.hpp"
#include "node/net/http_head.hpp"
#include "node/platform/data_dir.hpp"
#include "node/server/comet/comet.hpp"
#include "node/server/comet/light_rpc.hpp"
#include "node/server/comet/snapshot_provider.hpp"
#include "node/server/comet/state_sync.hpp"
#include "node/server/engine/block_log.hpp"
#include "node/server/engine/solo.hpp"
#include "node/server/http/admin_token.hpp"
#include "node/server/http/openrpc.hpp"
#include "node/server/methods/auction_index.hpp"
#include "node/server/methods/filters.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/metrics.hpp"
#include "node/server/open_chain.hpp"

namespace retrace::node {
namespace {

void on_halt(const std::string& why) { spdlog::critical("event=halted why=\"{}\"", why); }

engine::SoloOptions solo_options(const Config& config, const DataDir& data) {
    engine::SoloOptions options;
    options.log_path = data.file("blocks.log");
    options.block_interval = std::chrono::milliseconds(config.engine.block_ms);
    options.empty_blocks = config.engine.empty_blocks;
    options.keep_blocks = config.storage.archive ? 0 : config.storage.keep_blocks;
    if (config.engine.proposer) options.proposer = config.engine.proposer->bytes;
    options.on_halt = on_halt;
    return options;
}

engine::CometHome comet_home(const Config& config, const DataDir& data) {
    engine::CometHome home;
    home.folder = std::filesystem::absolute(data.file("comet"));
    home.block_interval = std::chrono::milliseconds(config.engine.block_ms);
    home.p2p_host = config.engine.p2p_host;
    home.p2p_port = config.engine.p2p_port;
    home.peers = config.engine.peers;
    home.private_network = config.engine.private_network;
    return home;
}

/// Fetches a snapshot if the configuration names nodes for that and the store holds no chain.
Status<> synchronise(const Config& config, const DataDir& data, ledger::Store& store, const ledger::Genesis& genesis,
                     const ledger::TxExecutor& executor) {
    if (config.engine.kind != "comet") return Unit{};
    engine::CometHome home = comet_home(config, data);
    if (config.engine.sync_from.empty()) return engine::end_state_sync(home, store);
    if (!engine::wants_state_sync(store)) {
        spdlog::info("event=state_sync_skipped why=\"the data directory has a chain already\"");
        return engine::end_state_sync(home, store);
    }
    home.sync = {config.engine.sync_from, config.engine.trust_height, config.engine.trust_hash};
    return engine::sync_state(home, config.engine.cometbft, store, genesis, executor);
}

/// The origins of pages that this machine serves, on any port.
std::vector<std::string> local_origins() {
    std::vector<std::string> out;
    for (const char* scheme : {"http://", "https://"}) {
        for (const char* host : {"localhost", "127.0.0.1", "[::1]"}) out.push_back(std::string(scheme) + host + ":*");
    }
    return out;
}

Result<rpc::ServerOptions> server_options(const Config& config, const DataDir& data) {
    rpc::ServerOptions options;
    options.host = config.rpc.host == "localhost" ? "127.0.0.1" : config.rpc.host;
    options.port = config.rpc.port;
    options.connections = config.rpc.connections;
    options.connections_per_address = config.rpc.connections_per_address;
    options.requests_per_second = static_cast<double>(config.rpc.requests_per_second);
    options.request_burst = 5 * options.requests_per_second;
    options.cors_origins = config.rpc.cors;
    // A developer chain's keys are published, so pages from other origins must not reach it by default.
    if (config.dev && options.cors_origins.empty()) options.cors_origins = local_origins();
    options.hosts = hosts_of(options.host, config.rpc.allowed_hosts);
    RETRACE_TRY(token, rpc::load_admin_token(data.file("rpc-token")));
    options.admin_token = std::move(token);
    if (config.rpc.tls && !config.rpc.tls_cert.empty()) {
        options.tls = tls::Files{config.rpc.tls_cert, config.rpc.tls_key};
    } else if (config.rpc.tls) {
        RETRACE_TRY(files, tls::self_signed(config.data_dir, config.rpc.host));
        options.tls = std::move(files);
    }
    return options;
}

}  // namespace

struct Node::Impl {
    Config config;
    Rules rules;
    // In order of dependency.
    std::unique_ptr<DataDir> data;
    std::unique_ptr<ledger::Store> store;
    std::unique_ptr<ledger::Chain> chain;
    ledger::Mempool pool{*rules.executor};
    std::unique_ptr<ledger::MempoolJournal> journal;
    Metrics metrics;
    rpc::FilterStore filters;
    std::unique_ptr<ledger::Store> auction_store;
    std::unique_ptr<rpc::AuctionIndex> auctions;
    std::unique_ptr<LedgerApplication> application;
    std::unique_ptr<engine::SnapshotProvider> snapshots;  // nullptr: this node offers none
    std::unique_ptr<engine::LightRpc> light;              // nullptr with the embedded engine
    std::unique_ptr<engine::Engine> engine;
    std::unique_ptr<rpc::Backend> backend;
    rpc::Router router;
    std::unique_ptr<rpc::Dispatcher> dispatcher;
    std::unique_ptr<rpc::Server> server;
    std::string certificate;  // PEM file; empty without TLS
    bool stopped = false;

    Impl(Config c, Rules r) : config(std::move(c)), rules(std::move(r)) {}

    Status<> build() {
        RETRACE_TRY(options, server_options(config, *data));
        certificate = options.tls ? options.tls->certificate : "";
        application = std::make_unique<LedgerApplication>(*chain, pool);
        RETRACE_TRY(made, make_engine());
        engine = std::move(made);
        RETRACE_TRY(opened, open_auctions(*data));
        auction_store = std::move(opened);
        auctions = std::make_unique<rpc::AuctionIndex>(*auction_store, *chain);
        backend = std::make_unique<rpc::Backend>(
            rpc::Backend{*chain, pool, *application, *engine, filters, *auctions, kVersion, rules.contracts});
        register_methods(router, *backend);
        register_discover(router, *backend);
        dispatcher = std::make_unique<rpc::Dispatcher>(router, rpc::DispatchLimits{},
                                                       [this](const std::string& method, bool failed, double seconds) {
                                                           metrics.rpc_call(method, failed, seconds);
                                                       });
        server = std::make_unique<rpc::Server>(std::move(options), *dispatcher);
        server->route({"/health", 0, [this](const HttpRequest&) { return health(); }});
        server->route({"/metrics", 0, [this](const HttpRequest&) { return metrics_text(); }});
        if (light != nullptr) server->route(light->route());
        listen();
        return Unit{};
    }

    Result<std::unique_ptr<engine::Engine>> make_engine() {
        if (config.engine.kind == "comet") return make_comet();
        engine::SoloOptions options = solo_options(config, *data);
        if (!chain->genesis().validators.empty()) RETRACE_CHECK(decide_alone(options));
        return std::unique_ptr<engine::Engine>(std::make_unique<engine::SoloEngine>(std::move(options)));
    }

    /// On a chain whose genesis names one validator and admits no others, that one needs no CometBFT.
    Status<> decide_alone(engine::SoloOptions& options) {
        const auto rules = market::decode_validator_rules(chain->genesis().validator_rules);
        const auto set = chain->executor().validators(*chain->view());
        if (!rules || rules->is_open() || set.size() != 1)
            return error(
                "this chain's genesis names several validators, or lets others join: start the node with "
                "--engine comet");
        if (config.engine.proposer)
            return error("the genesis names the account that receives the fees of blocks: drop --proposer");
        const std::filesystem::path folder = comet_home(config, *data).folder;
        RETRACE_TRY(keys, engine::make_keys(folder));
        if (keys.key != set.front().key)
            return error("the genesis names the validator with the key " + to_hex(view(set.front().key)) +
                         ", and this node has another one: restore the validator's keys in " + folder.string() +
                         "/config");
        application->validate_as(keys.key, keys.vrf);
        options.is_validator = true;
        options.proposer = ledger::consensus_address(keys.key);
        return Unit{};
    }

    Result<std::unique_ptr<engine::Engine>> make_comet() {
        if (config.storage.snapshot_every != 0) {
            snapshots = std::make_unique<engine::SnapshotProvider>(*store, chain->genesis(), data->file("snapshots"),
                                                                   config.storage.snapshot_every, chain->height());
        }
        engine::CometOptions options;
        options.home = comet_home(config, *data);
        RETRACE_TRY(keys, engine::make_keys(options.home.folder));
        application->validate_as(keys.key, keys.vrf);
        light = std::make_unique<engine::LightRpc>(options.home.rpc_socket());
        options.genesis = chain->genesis();
        options.program = config.engine.cometbft;
        options.keep_blocks = config.storage.archive ? 0 : config.storage.keep_blocks;
        options.snapshots = snapshots.get();
        options.pending = [this](std::size_t bytes) { return application->pending(bytes); };
        options.on_halt = on_halt;
        return std::unique_ptr<engine::Engine>(std::make_unique<engine::CometEngine>(std::move(options)));
    }

    void listen() {
        Listener listener;
        listener.on_block = [this](const std::shared_ptr<const ledger::Block>& block) {
            metrics.block(block->header.height, block->txs.size(), block->header.gas_used);
            spdlog::debug("event=block height={} txs={} gas={}", block->header.height, block->txs.size(),
                          block->header.gas_used);
            server->publish(block);
            auctions->wake();
        };
        listener.on_pending = [this](const ledger::TxPtr& tx) {
            engine->announce(tx->raw);
            filters.on_pending(tx->hash);
            server->publish(tx);
        };
        application->listen(std::move(listener));
    }

    /// A block is never older than the one before, so that a clock that was far ahead once shows in all later blocks.
    void warn_of_clock() const {
        constexpr engine::TimeNs kAhead = 60'000'000'000;
        const engine::TimeNs now = engine::system_clock_ns(), made = chain->tip()->header.time_ns;
        if (made <= now + kAhead) return;
        spdlog::warn(
            "event=clock reason=\"the newest block was made {} s after the time of this machine's clock: it is "
            "late now, or a clock was far ahead then\" action=\"set the clock (NTP)\"",
            (made - now) / 1'000'000'000);
    }

    HttpReply health() const {
        const engine::EngineStatus status = engine->status();
        const engine::TimeNs now = engine::system_clock_ns(), made = chain->tip()->header.time_ns;
        const std::uint64_t age = now > made ? (now - made) / 1'000'000'000 : 0;
        HttpReply reply;
        const bool healthy = !status.halted && !status.stalled;
        reply.status = healthy ? 200 : 503;
        reply.content_type = "application/json";
        reply.body = to_bytes(view(std::string(R"({"healthy":)") + (healthy ? "true" : "false") + R"(,"syncing":)" +
                                   (status.catching_up ? "true" : "false") + R"(,"height":)" +
                                   std::to_string(status.height) + R"(,"block_age_s":)" + std::to_string(age) + "}\n"));
        return reply;
    }

    HttpReply metrics_text() const {
        const ledger::PoolStats pool_stats = pool.stats();
        const rpc::ServerStats server_stats = server->stats();
        HttpReply reply;
        reply.content_type = "text/plain; version=0.0.4";
        reply.body = to_bytes(
            view(metrics.text({pool_stats.pending, pool_stats.queued, server_stats.http_connections,
                               server_stats.ws_connections, server_stats.refused, rules.broken_invariants->load()})));
        return reply;
    }
};

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() { stop(); }

Result<std::unique_ptr<Node>> Node::open(const Config& config, Rules rules) {
    RETRACE_CHECK(check(config));
    auto impl = std::make_unique<Impl>(config, std::move(rules));
    RETRACE_TRY(data, DataDir::open(config.data_dir));
    impl->data = std::move(data);
    RETRACE_TRY(genesis, open_genesis(config, impl->rules, *impl->data));
    RETRACE_TRY(store, open_store(*impl->data));
    impl->store = std::move(store);
    RETRACE_CHECK(synchronise(config, *impl->data, *impl->store, genesis, *impl->rules.executor));
    auto chain = ledger::Chain::open(*impl->store, genesis, *impl->rules.executor, chain_options(config));
    if (!chain) return error(config.data_dir + ": " + chain.error().message);
    impl->chain = std::move(chain).value();
    RETRACE_TRY(journal, ledger::MempoolJournal::open(impl->data->file("pool")));
    impl->journal = std::move(journal);
    RETRACE_CHECK(impl->build());
    return std::unique_ptr<Node>(new Node(std::move(impl)));
}

Result<std::uint16_t> Node::start() {
    // The port is bound first, because a node that cannot serve must not make blocks. Requests are answered once the
    // chain is at its tip.
    RETRACE_TRY(port, impl_->server->bind());
    impl_->warn_of_clock();
    const std::size_t waiting = impl_->application->attach(*impl_->journal);
    if (waiting != 0) spdlog::info("event=pool_restored txs={}", waiting);
    RETRACE_CHECK(impl_->engine->start(*impl_->application));
    impl_->auctions->begin();
    impl_->server->serve();
    spdlog::info("event=started chain_id={} height={} rpc={}:{} engine={}", genesis().chain_id, chain().height(),
                 impl_->config.rpc.host, port, impl_->engine->name());
    return port;
}

void Node::stop() noexcept {
    if (impl_->stopped) return;
    impl_->stopped = true;
    impl_->engine->stop();
    impl_->server->stop();
}

rpc::Router& Node::router() noexcept { return impl_->router; }
const rpc::Backend& Node::backend() const noexcept { return *impl_->backend; }
void Node::route(HttpRoute route) { impl_->server->route(std::move(route)); }
void Node::page(HttpHandler handler) { impl_->server->page(std::move(handler)); }
LedgerApplication& Node::application() noexcept { return *impl_->application; }
ledger::Chain& Node::chain() noexcept { return *impl_->chain; }
const ledger::Genesis& Node::genesis() const noexcept { return impl_->chain->genesis(); }
engine::EngineStatus Node::status() const { return impl_->engine->status(); }
const std::string& Node::certificate() const noexcept { return impl_->certificate; }
const Config& Node::config() const noexcept { return impl_->config; }

Status<> verify_data(const Config& config, const Rules& rules,
                     const std::function<void(std::uint64_t height)>& progress) {
    RETRACE_CHECK(check(config));
    RETRACE_TRY(data, DataDir::open(config.data_dir));
    RETRACE_TRY(genesis, open_genesis(config, rules, *data));
    // Before the store is opened: a page that cannot be read would end the process.
    std::error_code ignored;
    if (std::filesystem::exists(data->file("db"), ignored))
        if (const auto pages = ledger::check_rocks_pages(data->file("db")); !pages) return error(pages.error().message);
    RETRACE_TRY(store, open_store(*data));
    std::uint64_t last = 0;
    const auto verified = ledger::verify_db(*store, genesis, *rules.executor, [&](std::uint64_t height) {
        last = height;
        if (progress) progress(height);
    });
    if (!verified) return error(config.data_dir + ": " + verified.error().message);
    // Only the embedded engine has a log.
    const std::string log = data->file("blocks.log");
    if (!std::filesystem::exists(log, ignored)) return Unit{};
    RETRACE_CHECK(engine::BlockLog::verify(log, ledger::genesis_hash(genesis), last));
    return Unit{};
}

}  // namespace retrace::node
