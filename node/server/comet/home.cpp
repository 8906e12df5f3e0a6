// SPDX-License-Identifier: MIT
#include "node/server/comet/home.hpp"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>

#include "market/validator.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/net/http_client.hpp"
#include "node/platform/base64.hpp"
#include "node/server/comet/consensus_key.hpp"
#include "node/server/comet/vrf_key.hpp"

namespace retrace::node::engine {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr std::uint64_t kBlockBytes = 4U << 20;  // of a whole block; as the embedded engine's transactions
// Evidence is too old when both its blocks and its time are past: blocks alone decide, as for the stake it costs.
constexpr std::uint64_t kEvidenceNs = 1;

std::string upper_hex(View bytes) {
    std::string text = to_hex(bytes);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
    return text;
}

/// RFC 3339 in UTC, with nanoseconds.
std::string time_text(std::uint64_t ns) {
    const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> date{};
    std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::string fraction = std::to_string(ns % 1'000'000'000);
    return std::string(date.data()) + "." + std::string(9 - fraction.size(), '0') + fraction + "Z";
}

bool has_only(std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kNames = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-";

bool is_port(std::string_view text) {
    return has_only(text, kDigits) && text.size() <= 5 && std::stoul(std::string(text)) - 1 < 65'535;
}

/// "id@host:port"
bool is_peer(std::string_view peer) {
    const std::size_t at = peer.find('@'), colon = peer.rfind(':');
    if (at != 40 || colon == std::string_view::npos || colon < at) return false;
    return has_only(peer.substr(0, at), kHex) && is_host_name(peer.substr(at + 1, colon - at - 1)) &&
           is_port(peer.substr(colon + 1));
}

/// Whether the text can be the host of an address, without brackets, and cannot end the text of the configuration.
bool is_host(std::string_view text) { return is_host_name(text) || has_only(text, "0123456789abcdefABCDEF:."); }

/// Whether a path can stand between quotes in the configuration.
bool is_plain(const std::string& path) {
    return std::none_of(path.begin(), path.end(), [](char c) { return c == '"' || c == '\\' || (c >= 0 && c < ' '); });
}

std::string quoted(std::chrono::milliseconds time) { return "\"" + std::to_string(time.count()) + "ms\""; }

/// For how long a header is trusted: a week, or less where a validator's stake is free again sooner.
std::uint64_t trust_seconds(const CometHome& home, const market::ValidatorRules& rules) {
    const auto unbonding = static_cast<std::uint64_t>(home.block_interval.count()) * rules.unbond_blocks / 1000;
    return std::clamp<std::uint64_t>(unbonding / 2, 1, 7 * 24 * 3600);
}

std::string sync_text(const SyncSource& sync, std::uint64_t trust_period_s) {
    std::string nodes;
    for (const std::string& node : sync.nodes) {
        const Url url = parse_url(node).value();  // `check` has seen it.
        const bool ipv6 = url.host.find(':') != std::string::npos;
        nodes += (nodes.empty() ? "" : ",") + std::string(url.tls ? "https://" : "http://") +
                 (ipv6 ? "[" + url.host + "]" : url.host) + ":" + url.port + std::string(kLightPath);
    }
    return "[statesync]\n"
           "enable = true\n"
           "rpc_servers = \"" +
           nodes +
           "\"\n"
           "trust_height = " +
           std::to_string(sync.height) +
           "\n"
           "trust_hash = \"" +
           sync.hash +
           "\"\n"
           "trust_period = \"" +
           std::to_string(trust_period_s) +
           "s\"\n"
           "discovery_time = \"5s\"\n";
}

/// Only what differs from the defaults of CometBFT.
std::string config_text(const CometHome& home, const market::ValidatorRules& rules) {
    using std::chrono::milliseconds;
    const milliseconds interval = home.block_interval;
    // The votes of a height take part of the interval; the rest is waited for.
    const milliseconds commit = std::max(milliseconds(1), interval - std::min(interval / 2, milliseconds(150)));
    std::string peers;
    for (const std::string& peer : home.peers) peers += (peers.empty() ? "" : ",") + peer;
    const std::string port = std::to_string(home.p2p_port);
    const bool ipv6 = home.p2p_host.find(':') != std::string::npos;
    const std::string host = ipv6 ? "[" + home.p2p_host + "]" : home.p2p_host;
    const std::string open = home.private_network ? "false" : "true";
    return "# Written by `retrace node` at every start.\n" +
           std::string(home.sync ? "priv_validator_key_file = \"data/sync_key.json\"\n"
                                   "priv_validator_state_file = \"data/sync_state.json\"\n"
                                 : "") +
           "proxy_app = \"unix://" + home.abci_socket().string() +
           "\"\n"
           "abci = \"socket\"\n"
           "db_backend = \"goleveldb\"\n"
           "log_level = \"error\"\n"
           "filter_peers = false\n"
           "[rpc]\n"
           "laddr = \"unix://" +
           home.rpc_socket().string() +
           "\"\n"
           "pprof_laddr = \"\"\n"
           "max_body_bytes = 4000000\n"
           "[p2p]\n"
           "laddr = \"tcp://" +
           host + ":" + port +
           "\"\n"
           "persistent_peers = \"" +
           peers +
           "\"\n"
           "addr_book_strict = " +
           open +
           "\n"
           "allow_duplicate_ip = " +
           (home.private_network ? "true" : "false") + "\n" + (home.sync ? "max_num_inbound_peers = 0\n" : "") +
           "pex = false\n"  // The validators are named: nobody asks strangers for addresses.
           "send_rate = 51200000\n"
           "recv_rate = 51200000\n"
           "flush_throttle_timeout = \"10ms\"\n"
           "[mempool]\n"
           "size = 20000\n"
           "cache_size = 40000\n"
           "max_txs_bytes = 67108864\n"
           "recheck = true\n"
           "[consensus]\n"
           "timeout_propose = \"1s\"\n"
           "timeout_propose_delta = \"500ms\"\n"
           "timeout_prevote = \"500ms\"\n"
           "timeout_prevote_delta = \"250ms\"\n"
           "timeout_precommit = \"500ms\"\n"
           "timeout_precommit_delta = \"250ms\"\n"
           "timeout_commit = " +
           quoted(commit) +
           "\n"
           "create_empty_blocks = true\n"
           "peer_gossip_sleep_duration = \"10ms\"\n"
           "[storage]\n"
           "discard_abci_responses = true\n"
           "[tx_index]\n"
           "indexer = \"null\"\n" +
           (home.sync ? sync_text(*home.sync, trust_seconds(home, rules)) : "");
}

Status<> write_text(const fs::path& path, const std::string& text, mode_t mode) {
    const auto written = write_durably(path, {view(std::string_view(text))}, mode);
    if (!written) return error(written.error().message);
    return Unit{};
}

Status<> write_genesis(const fs::path& path, const std::string& text) {
    if (fs::exists(path)) {
        const auto kept = read_file(path, std::uint64_t{64} << 20);
        if (!kept) return error(kept.error().message);
        if (!equal(*kept, view(std::string_view(text))))
            return error(path.string() +
                         " is not what this genesis gives: it belongs to another chain or was changed; choose "
                         "another --data-dir");
        return Unit{};
    }
    return write_text(path, text, 0644);
}

}  // namespace

bool is_host_name(std::string_view text) {
    if (text.starts_with('[') && text.ends_with(']') && text.size() > 2)
        return has_only(text.substr(1, text.size() - 2), "0123456789abcdefABCDEF:.");
    return has_only(text, kNames) && text.size() <= 253;
}

Status<> check(const SyncSource& sync) {
    if (sync.nodes.size() < 2)
        return error("--sync-from is given for at least two nodes, so that one cannot deceive this one alone");
    for (const std::string& node : sync.nodes) {
        if (std::ranges::count(sync.nodes, node) != 1) return error("--sync-from " + node + " is given twice");
        const auto url = parse_url(node);
        if (!url || !is_host(url->host) || node.find('#') != std::string::npos)
            return error("--sync-from \"" + node + "\" is no URL of a node's JSON-RPC, like http://host:8545");
    }
    if (sync.height == 0 || sync.hash.size() != 64 || !has_only(sync.hash, "0123456789abcdefABCDEF")) {
        return error(
            "--sync-from needs --trust-height and --trust-hash (64 hex digits): the height and hash of a recent block "
            "of CometBFT, from an operator whom you trust; see docs/operator.md");
    }
    return Unit{};
}

Result<CometKeys> make_keys(const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder / "config", failed);
    if (!failed) fs::create_directories(folder / "data", failed);
    if (!failed) fs::permissions(folder, fs::perms::owner_all, failed);
    if (failed) return error(folder.string() + ": " + failed.message());
    RETRACE_TRY(id, make_node_key(folder / "config" / "node_key.json"));
    RETRACE_TRY(key, make_validator_key(folder / "config" / "priv_validator_key.json",
                                        folder / "data" / "priv_validator_state.json"));
    RETRACE_TRY(secret, make_vrf_key(folder / "config" / "vrf_key"));
    return CometKeys{id, key, secret};
}

std::string comet_chain_id(const ledger::Genesis& genesis, CometLine line) {
    return "retrace-" + std::to_string(genesis.chain_id) + "-" + to_hex(view(ledger::genesis_hash(genesis)).first(8)) +
           (line == CometLine::v0_40 ? "-40" : "");
}

json::object comet_params(const ledger::Genesis& genesis, CometLine line) {
    const auto rules = market::decode_validator_rules(genesis.validator_rules);
    ensure(rules.has_value(), "the rules of validators were checked when the genesis file was read");
    json::object out{{"block", json::object{{"max_bytes", std::to_string(kBlockBytes)}, {"max_gas", "-1"}}},
                     {"evidence", json::object{{"max_age_num_blocks", std::to_string(rules->evidence_blocks)},
                                               {"max_age_duration", std::to_string(kEvidenceNs)},
                                               {"max_bytes", "262144"}}},
                     {"validator", json::object{{"pub_key_types", json::array{"ed25519"}}}},
                     {"version", json::object{{"app", "1"}}},
                     {"abci", json::object{{"vote_extensions_enable_height", "1"}}}};
    if (line == CometLine::v0_40) out["authority"] = json::object{{"authority", ""}};
    return out;
}

std::string comet_genesis(const ledger::Genesis& genesis, CometLine line) {
    json::array validators;
    for (const ledger::Validator& validator : genesis.validators) {
        validators.push_back(json::object{
            {"address", upper_hex(ledger::consensus_address(validator.key))},
            {"pub_key", json::object{{"type", "tendermint/PubKeyEd25519"}, {"value", to_base64(view(validator.key))}}},
            {"power", std::to_string(validator.power)},
            {"name", ""}});
    }
    return json::serialize(json::object{{"genesis_time", time_text(genesis.time_ns)},
                                        {"chain_id", comet_chain_id(genesis, line)},
                                        {"initial_height", "1"},
                                        {"consensus_params", comet_params(genesis, line)},
                                        {"validators", std::move(validators)},
                                        {"app_hash", ""},
                                        {"app_state", to_hex(view(ledger::genesis_hash(genesis)))}}) +
           "\n";
}

Status<> write_comet_home(const CometHome& home, const ledger::Genesis& genesis) {
    if (genesis.validators.empty()) {
        return error(
            "this chain's genesis names no validators, so CometBFT cannot run it; `retrace testnet init` makes "
            "one that does");
    }
    if (genesis.time_ns == 0) return error("the genesis of a chain with validators needs a timestamp");
    for (const std::string& peer : home.peers) {
        if (!is_peer(peer)) return error("the peer \"" + peer + "\" is not ID@HOST:PORT with an id of 40 hex digits");
    }
    if (home.sync) RETRACE_CHECK(check(*home.sync));
    if (!is_host(home.p2p_host)) return error("\"" + home.p2p_host + "\" is no address to listen on");
    if (!is_plain(home.folder.string())) {
        return error(home.folder.string() +
                     ": CometBFT's configuration cannot name a folder with quotes, backslashes or "
                     "control characters; choose another --data-dir");
    }
    RETRACE_CHECK(make_keys(home.folder));
    if (home.sync)
        RETRACE_CHECK(
            make_validator_key(home.folder / "data" / "sync_key.json", home.folder / "data" / "sync_state.json"));
    RETRACE_CHECK(write_genesis(home.folder / "config" / "genesis.json", comet_genesis(genesis, home.line)));
    const auto rules = market::decode_validator_rules(genesis.validator_rules);
    if (!rules) return error(rules.error().message);
    return write_text(home.folder / "config" / "config.toml", config_text(home, *rules), 0600);
}

}  // namespace retrace::node::engine
