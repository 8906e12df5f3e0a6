// SPDX-License-Identifier: MIT
// retrace node
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <thread>

#include "ledger/crypto/eip55.hpp"
#include "node/cmd/cli.hpp"
#include "node/platform/data_dir.hpp"
#include "node/platform/log.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/server/extensions.hpp"
#include "node/server/rules.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node::cli {
namespace {

/// Flags of the command line; they override the configuration file.
struct NodeFlags {
    std::string config_file;
    bool dev = false;
    bool verify_db = false;
    bool no_empty_blocks = false;
    bool no_console = false;
    bool check_config = false;
    std::optional<std::string> data_dir, genesis, rpc_host, dial_back, log_level, proposer;
    std::optional<std::string> engine, cometbft, p2p_host;
    std::vector<std::string> peers;
    bool private_network = false;
    std::vector<std::string> sync_from;
    std::optional<std::string> trust_hash;
    std::optional<std::uint64_t> trust_height, snapshot_every;
    std::optional<std::uint16_t> rpc_port, p2p_port;
    std::optional<std::uint64_t> block_ms, requests_per_second;
    std::optional<std::uint64_t> keep_states, keep_blocks;
    std::optional<std::uint64_t> artifact_quota, requester_quota, mib_per_coin;
    bool archive = false;
    bool tls = false;
    std::optional<std::string> tls_cert, tls_key;
    std::vector<std::string> cors, allowed_hosts;
};

Result<Config> settle(const NodeFlags& flags) {
    Config config;
    if (!flags.config_file.empty()) RETRACE_CHECK(load_config(flags.config_file, config));
    if (flags.dev) config.dev = true;
    if (flags.no_empty_blocks) config.engine.empty_blocks = false;
    if (flags.no_console) config.rpc.console = false;
    if (flags.dial_back) config.rpc.dial_back = *flags.dial_back;
    if (flags.data_dir) config.data_dir = *flags.data_dir;
    if (flags.genesis) config.genesis = *flags.genesis;
    if (flags.rpc_host) config.rpc.host = *flags.rpc_host;
    if (flags.rpc_port) config.rpc.port = *flags.rpc_port;
    if (flags.requests_per_second) config.rpc.requests_per_second = *flags.requests_per_second;
    if (flags.tls || flags.tls_cert) config.rpc.tls = true;
    if (flags.tls_cert) config.rpc.tls_cert = *flags.tls_cert;
    if (flags.tls_key) config.rpc.tls_key = *flags.tls_key;
    if (flags.keep_states) config.storage.keep_states = *flags.keep_states;
    if (flags.keep_blocks) config.storage.keep_blocks = *flags.keep_blocks;
    if (flags.archive) config.storage.archive = true;
    if (flags.artifact_quota) config.artifacts.quota_mib = *flags.artifact_quota;
    if (flags.requester_quota) config.artifacts.requester_quota_mib = *flags.requester_quota;
    if (flags.mib_per_coin) config.artifacts.mib_per_coin = *flags.mib_per_coin;
    if (flags.engine) config.engine.kind = *flags.engine;
    if (flags.cometbft) config.engine.cometbft = *flags.cometbft;
    if (flags.p2p_host) config.engine.p2p_host = *flags.p2p_host;
    if (flags.p2p_port) config.engine.p2p_port = *flags.p2p_port;
    if (!flags.peers.empty()) config.engine.peers = flags.peers;
    if (flags.private_network) config.engine.private_network = true;
    if (!flags.sync_from.empty()) config.engine.sync_from = flags.sync_from;
    if (flags.trust_height) config.engine.trust_height = *flags.trust_height;
    if (flags.trust_hash) config.engine.trust_hash = *flags.trust_hash;
    if (flags.snapshot_every) config.storage.snapshot_every = *flags.snapshot_every;
    if (flags.block_ms) config.engine.block_ms = *flags.block_ms;
    if (flags.log_level) config.log.level = *flags.log_level;
    if (!flags.cors.empty()) config.rpc.cors = flags.cors;
    if (!flags.allowed_hosts.empty()) config.rpc.allowed_hosts = flags.allowed_hosts;
    if (flags.proposer) {
        config.engine.proposer = ledger::parse_address(*flags.proposer);
        if (!config.engine.proposer) return error("--proposer is no address: \"0x\" and 40 hex digits");
    }
    RETRACE_CHECK(check(config));
    return config;
}

/// Raises the soft limit of descriptors: every connection and every file of the store takes one, and the usual 1024 are
/// too few.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Blocks the signals that end the node, so that threads started later leave them to `wait_for_end`.
sigset_t block_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return set;
}

/// Ends the process at a signal that comes while the node starts, which may take hours of replay: nothing that it does
/// then is lost by that. Destroyed when the node has started.
class SignalsAtStart {
public:
    explicit SignalsAtStart(const sigset_t& signals) : signals_(signals), thread_([this] { watch(); }) {}
    ~SignalsAtStart() {
        started_ = true;
        thread_.join();
    }

private:
    void watch() {
        const timespec pause{0, 100'000'000};
        while (!started_) {
            const int signal = ::sigtimedwait(&signals_, nullptr, &pause);
            if (signal <= 0) continue;
            if (started_) {
                ::kill(::getpid(), signal);  // for `wait_for_end`
                return;
            }
            spdlog::info("event=stopped_at_start signal={}", signal);
            spdlog::default_logger()->flush();
            ::_exit(128 + signal);
        }
    }

    sigset_t signals_;
    std::atomic<bool> started_ = false;
    std::thread thread_;
};

/// Waits until a signal comes or the engine halts.
int wait_for_end(const Node& node, const sigset_t& signals) {
    const timespec pause{0, 200'000'000};
    for (;;) {
        const int signal = ::sigtimedwait(&signals, nullptr, &pause);
        if (signal > 0) {
            spdlog::info("event=stopping signal={}", signal);
            return kDone;
        }
        if (node.status().halted) return kFailed;
    }
}

/// Returns the SHA-256 of the node's certificate in hex, for --tls-fingerprint of its clients; empty without TLS.
std::string fingerprint(const Node& node) {
    if (node.certificate().empty()) return {};
    const auto digest = tls::fingerprint_of(node.certificate());
    return digest ? to_hex(*digest) : std::string();
}

void print_started(const Program& program, const Node& node, const std::string& url) {
    const std::uint64_t chain_id = node.genesis().chain_id;
    if (program.json) {
        boost::json::array accounts;
        if (node.config().dev) {
            for (const auto& [address, coins] : node.genesis().alloc) accounts.emplace_back(ledger::to_0x(address));
        }
        std::cout << boost::json::serialize(boost::json::object{{"rpc", url},
                                                                {"chain_id", chain_id},
                                                                {"data_dir", node.config().data_dir},
                                                                {"tls_fingerprint", fingerprint(node)},
                                                                {"accounts", std::move(accounts)}})
                  << std::endl;
        return;
    }
    std::cout << "chain " << chain_id << ", JSON-RPC and WebSocket at " << url << '\n';
    if (node.config().rpc.console) std::cout << "console at " << url << "/\n";
    if (node.config().rpc.tls) std::cout << "certificate SHA-256 " << fingerprint(node) << '\n';
    if (node.config().dev) {
        std::cout << "developer accounts of \"" << kDevMnemonic << "\", " << kDevCoins
                  << " coins each (N of --dev-account N, address, key):\n";
        for (std::uint32_t i = 0; i < kDevAccounts; ++i) {
            const auto key = wallet::account_key(kDevMnemonic, "", i);
            std::cout << "  " << i << "  " << ledger::to_checksum(key->address()) << "  " << to_0x(key->bytes())
                      << '\n';
        }
    }
    std::cout << std::flush;
}

/// Adds the methods that require the token in the data directory.
void add_admin_methods(rpc::Router& router) {
    using namespace rpc;
    router.add({.name = "retrace_stop",
                .summary = "Ends the node, as SIGTERM does.",
                .params = {},
                .result = "Boolean",
                .handler = [](const Params&, Caller&) -> Answer {
                    ::kill(::getpid(), SIGTERM);  // stays pending until `wait_for_end` takes it
                    return boost::json::value(true);
                },
                .admin = true});
    router.add({.name = "retrace_setLogLevel",
                .summary = "trace, debug, info, warn, error or off.",
                .params = {{"level", "Text"}},
                .result = "Boolean",
                .handler = [](const Params& params, Caller&) -> Answer {
                    const auto* text = params.at(0).if_string();
                    if (text == nullptr) return invalid_argument(0, "a level is a text");
                    const std::string level(text->data(), text->size());
                    if (spdlog::level::from_str(level) == spdlog::level::off && level != "off") {
                        return invalid_params("unknown level: " + level);
                    }
                    spdlog::set_level(spdlog::level::from_str(level));
                    return boost::json::value(true);
                },
                .admin = true});
}

bool has_chain(const std::string& data_dir) {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::path(data_dir) / "genesis", ignored);
}

/// Deletes the chain that a start has begun and that failed afterwards: a second start with another genesis would
/// otherwise be refused because of it. Other files in the folder stay.
void forget_chain(const std::string& data_dir) {
    const auto lock = DataDir::open(data_dir);
    if (!lock) return;  // Another process has it, and the chain is that one's.
    std::error_code ignored;
    for (const char* const name : {"genesis", "db", "blocks.log", "pool"})
        std::filesystem::remove_all(std::filesystem::path(data_dir) / name, ignored);
}

int run_node(const Program& program, const Config& config) {
    set_up_log(config.log.level);
    raise_descriptor_limit();
    const sigset_t signals = block_signals();
    std::optional<SignalsAtStart> watched(std::in_place, signals);
    // CometBFT's files, which remember what was signed, are not touched.
    const bool fresh = config.engine.kind == "solo" && !has_chain(config.data_dir);
    auto node = Node::open(config, native_rules());
    if (!node) {
        if (fresh) forget_chain(config.data_dir);
        return fail(program, node.error().message);
    }
    const auto extensions = extend(**node);
    if (!extensions) {
        node->reset();
        if (fresh) forget_chain(config.data_dir);
        return fail(program, extensions.error().message);
    }
    add_admin_methods((*node)->router());
    const auto port = (*node)->start();
    watched.reset();
    if (!port) {
        (*node)->stop();
        node->reset();
        if (fresh) forget_chain(config.data_dir);
        return fail(program, port.error().message);
    }
    const bool ipv6 = config.rpc.host.find(':') != std::string::npos;
    const std::string scheme = config.rpc.tls ? "https://" : "http://";
    print_started(program, **node,
                  scheme + (ipv6 ? "[" + config.rpc.host + "]" : config.rpc.host) + ":" + std::to_string(*port));
    const int code = wait_for_end(**node, signals);
    (*node)->stop();
    if (code != kDone) return fail(program, "the engine halted: " + (*node)->status().reason);
    return code;
}

int verify_db(const Program& program, const Config& config) {
    std::uint64_t last = 0;
    const auto verified = verify_data(config, native_rules(), [&](std::uint64_t height) {
        last = height;
        if (!program.json && height % 1000 == 0) std::cerr << "height " << height << " agrees\n";
    });
    if (!verified) return fail(program, verified.error().message);
    if (program.json) {
        std::cout << boost::json::serialize(boost::json::object{{"verified", true}, {"height", last}}) << '\n';
    } else {
        std::cout << "all blocks up to height " << last << " agree with their replay\n";
    }
    return kDone;
}

}  // namespace

void add_node(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("node", "Run a node of the ledger");
    auto flags = std::make_shared<NodeFlags>();
    command->add_option("--config", flags->config_file, "TOML file; the command line overrides it");
    command->add_flag("--dev", flags->dev, "Developer chain: loopback only, ten funded accounts with published keys");
    command->add_option("--data-dir", flags->data_dir, "Folder of the chain");
    command->add_option("--genesis", flags->genesis, "Genesis file, for a new data directory");
    command->add_option("--rpc-host", flags->rpc_host, "Address to listen on (127.0.0.1)");
    command->add_option("--rpc-port", flags->rpc_port, "Port of HTTP and WebSocket (8545); 0: any free one");
    command->add_flag("--tls", flags->tls, "HTTPS and WSS; self-signed unless --tls-cert is given");
    command->add_option("--tls-cert", flags->tls_cert, "PEM file of the certificate and its chain");
    command->add_option("--tls-key", flags->tls_key, "PEM file of its key");
    command->add_option("--requests-per-second", flags->requests_per_second,
                        "Requests per second and address, except from this machine (1000); 0: no limit");
    command
        ->add_option("--engine", flags->engine,
                     "solo: this node decides alone; comet: CometBFT among validators (solo)")
        ->check(CLI::IsMember({"solo", "comet"}));
    command->add_option("--cometbft", flags->cometbft,
                        "CometBFT's executable (beside this program, in PATH, ~/go/bin)");
    command->add_option("--p2p-host", flags->p2p_host, "Address that other nodes reach, with --engine comet (0.0.0.0)");
    command->add_option("--p2p-port", flags->p2p_port, "Its port (26656)")->check(CLI::Range(1, 65535));
    command->add_option("--peer", flags->peers, "ID@HOST:PORT of a node to stay connected to; may be repeated");
    command->add_flag("--private-network", flags->private_network,
                      "Peers may have private addresses, and several the same one");
    command->add_option("--sync-from", flags->sync_from,
                        "JSON-RPC of a node: a new node fetches a snapshot instead of executing all blocks; twice");
    command->add_option("--trust-height", flags->trust_height, "Height of a recent block that you trust");
    command->add_option("--trust-hash", flags->trust_hash, "Its hash on CometBFT, 64 hex digits");
    command->add_option("--block-ms", flags->block_ms, "Milliseconds between blocks (1000)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{3'600'000}));
    command->add_option("--keep-states", flags->keep_states, "Number of past states that can be queried (1024)")
        ->check(CLI::Range(std::uint64_t{128}, std::uint64_t{1'000'000'000}));
    command->add_option("--keep-blocks", flags->keep_blocks,
                        "Number of past blocks to keep, at least as many as states; 0: all");
    command->add_option("--snapshot-every", flags->snapshot_every,
                        "Blocks between snapshots for nodes that join, with --engine comet (0: none)");
    command->add_flag("--archive", flags->archive, "Keep every block and every state");
    const CLI::Range mebibytes(std::uint64_t{1}, std::uint64_t{1} << 40);
    command
        ->add_option("--artifact-quota", flags->artifact_quota,
                     "MiB of requesters' programs and data in all (half of what is free at the start)")
        ->check(mebibytes);
    command
        ->add_option("--artifact-requester-quota", flags->requester_quota,
                     "MiB of programs and data of one requester (a quarter of --artifact-quota)")
        ->check(mebibytes);
    command
        ->add_option("--artifact-mib-per-coin", flags->mib_per_coin,
                     "MiB of programs and data that a task may store for each coin of its escrow (1024)")
        ->check(mebibytes);
    command->add_flag("--no-empty-blocks", flags->no_empty_blocks, "Make a block only if there is a transaction");
    command->add_option("--proposer", flags->proposer, "Account that receives the priority fees");
    command->add_option("--cors", flags->cors,
                        "Origins that browsers may call from, http://name:* for any port, or * for all (none; "
                        "with --dev this machine's)");
    command->add_option("--rpc-allow-host", flags->allowed_hosts,
                        "Host names that requests may name besides localhost, 127.0.0.1, ::1 and --rpc-host, or * "
                        "(on loopback none, else all)");
    command->add_flag("--no-console", flags->no_console, "Do not serve the console, a web page, at /");
    command
        ->add_option("--dial-back", flags->dial_back,
                     "Callers that the node connects back to when their operators ask whether their ports are reached: "
                     "off (nobody), public (not from private networks) or all (public)")
        ->check(CLI::IsMember({"off", "public", "all"}));
    command->add_option("--log-level", flags->log_level, "trace, debug, info, warn, error, off")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
    command->add_flag("--check-config", flags->check_config, "Check the configuration and the flags, and exit");
    command->add_flag("--verify-db", flags->verify_db, "Replay the whole chain, compare, and exit");
    add_json(*command, program);
    command->callback([&program, flags] {
        program.run = [&program, flags] {
            const auto config = settle(*flags);
            if (!config) {
                fail(program, config.error().message);
                return kWrongUsage;
            }
            if (flags->check_config) return kDone;
            return flags->verify_db ? verify_db(program, *config) : run_node(program, *config);
        };
    });
}

}  // namespace retrace::node::cli
