// SPDX-License-Identifier: MIT
#include "node/server/config/config.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include "node/net/http_head.hpp"

namespace retrace::node {
namespace {

/// Stores a value in the configuration; the error says what the value must be.
using Setter = std::function<Status<>(Config&, const toml::node&)>;
struct Key {
    const char* name;  // "section.key"
    Setter set;
};

constexpr std::int64_t kMiBMax = std::int64_t{1} << 40;  // the number of bytes fits 64 bits
constexpr std::int64_t kHeightMax = std::int64_t{1} << 53;

Setter text(std::function<std::string&(Config&)> field) {
    return [field](Config& config, const toml::node& node) -> Status<> {
        const auto value = node.value_exact<std::string>();
        if (!value) return error("must be a text in quotes");
        field(config) = *value;
        return Unit{};
    };
}

Setter boolean(std::function<bool&(Config&)> field) {
    return [field](Config& config, const toml::node& node) -> Status<> {
        const auto value = node.value_exact<bool>();
        if (!value) return error("must be true or false");
        field(config) = *value;
        return Unit{};
    };
}

template <class T>
Setter integer(std::function<T&(Config&)> field, std::int64_t low, std::int64_t high) {
    return [=](Config& config, const toml::node& node) -> Status<> {
        const auto value = node.value_exact<std::int64_t>();
        if (!value || *value < low || *value > high) {
            return error("must be an integer from " + std::to_string(low) + " to " + std::to_string(high));
        }
        field(config) = static_cast<T>(*value);
        return Unit{};
    };
}

/// `what`: "origins, e.g. [...]", for errors.
Setter texts(std::function<std::vector<std::string>&(Config&)> field, const char* what) {
    return [=](Config& config, const toml::node& node) -> Status<> {
        const toml::array* values = node.as_array();
        if (values == nullptr) return error(std::string("must be a list of ") + what);
        field(config).clear();
        for (const toml::node& one : *values) {
            const auto value = one.value_exact<std::string>();
            if (!value) return error(std::string("must be a list of ") + what);
            field(config).push_back(*value);
        }
        return Unit{};
    };
}

Status<> set_proposer(Config& config, const toml::node& node) {
    const auto value = node.value_exact<std::string>();
    const auto address = value ? ledger::parse_address(*value) : std::nullopt;
    if (!address) return error("must be an address, \"0x\" and 40 hex digits");
    config.engine.proposer = *address;
    return Unit{};
}

Status<> set_engine(Config& config, const toml::node& node) {
    const auto value = node.value_exact<std::string>();
    if (!value || (*value != "solo" && *value != "comet")) return error("must be solo or comet");
    config.engine.kind = *value;
    return Unit{};
}

Status<> set_dial_back(Config& config, const toml::node& node) {
    const auto value = node.value_exact<std::string>();
    if (!value || (*value != "off" && *value != "public" && *value != "all"))
        return error("must be off, public or all");
    config.rpc.dial_back = *value;
    return Unit{};
}

Status<> set_level(Config& config, const toml::node& node) {
    static constexpr const char* kLevels[] = {"trace", "debug", "info", "warn", "error", "off"};
    const auto value = node.value_exact<std::string>();
    if (!value || std::find(std::begin(kLevels), std::end(kLevels), *value) == std::end(kLevels)) {
        return error("must be one of trace, debug, info, warn, error, off");
    }
    config.log.level = *value;
    return Unit{};
}

const std::vector<Key>& keys() {
    using C = Config;
    static const std::vector<Key> table{
        {"node.dev", boolean([](C& c) -> bool& { return c.dev; })},
        {"node.data_dir", text([](C& c) -> std::string& { return c.data_dir; })},
        {"node.genesis", text([](C& c) -> std::string& { return c.genesis; })},
        {"rpc.host", text([](C& c) -> std::string& { return c.rpc.host; })},
        {"rpc.port", integer<std::uint16_t>([](C& c) -> std::uint16_t& { return c.rpc.port; }, 0, 65535)},
        {"rpc.cors", texts([](C& c) -> std::vector<std::string>& { return c.rpc.cors; },
                           "origins, e.g. [\"https://example.org\"]")},
        {"rpc.allowed_hosts", texts([](C& c) -> std::vector<std::string>& { return c.rpc.allowed_hosts; },
                                    "host names, e.g. [\"node.example.org\"]")},
        {"rpc.connections",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.rpc.connections; }, 1, 100'000)},
        {"rpc.connections_per_address",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.rpc.connections_per_address; }, 1, 100'000)},
        {"rpc.requests_per_second",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.rpc.requests_per_second; }, 0, 1'000'000)},
        {"rpc.tls", boolean([](C& c) -> bool& { return c.rpc.tls; })},
        {"rpc.tls_cert", text([](C& c) -> std::string& { return c.rpc.tls_cert; })},
        {"rpc.tls_key", text([](C& c) -> std::string& { return c.rpc.tls_key; })},
        {"rpc.console", boolean([](C& c) -> bool& { return c.rpc.console; })},
        {"rpc.dial_back", set_dial_back},
        {"storage.keep_states",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.storage.keep_states; }, 128, 1'000'000'000)},
        {"storage.keep_blocks",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.storage.keep_blocks; }, 0, 1'000'000'000)},
        {"storage.snapshot_every",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.storage.snapshot_every; }, 0, 1'000'000'000)},
        {"storage.archive", boolean([](C& c) -> bool& { return c.storage.archive; })},
        {"artifacts.quota_mib",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.artifacts.quota_mib; }, 0, kMiBMax)},
        {"artifacts.requester_quota_mib",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.artifacts.requester_quota_mib; }, 0, kMiBMax)},
        {"artifacts.mib_per_coin",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.artifacts.mib_per_coin; }, 1, kMiBMax)},
        {"engine.kind", set_engine},
        {"engine.cometbft", text([](C& c) -> std::string& { return c.engine.cometbft; })},
        {"engine.p2p_host", text([](C& c) -> std::string& { return c.engine.p2p_host; })},
        {"engine.p2p_port", integer<std::uint16_t>([](C& c) -> std::uint16_t& { return c.engine.p2p_port; }, 1, 65535)},
        {"engine.peers", texts([](C& c) -> std::vector<std::string>& { return c.engine.peers; },
                               "nodes, e.g. [\"<40 hex digits>@node.example.org:26656\"]")},
        {"engine.private_network", boolean([](C& c) -> bool& { return c.engine.private_network; })},
        {"engine.sync_from", texts([](C& c) -> std::vector<std::string>& { return c.engine.sync_from; },
                                   "URLs of nodes, e.g. [\"http://node.example.org:8545\"]")},
        {"engine.trust_height",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.engine.trust_height; }, 1, kHeightMax)},
        {"engine.trust_hash", text([](C& c) -> std::string& { return c.engine.trust_hash; })},
        {"engine.block_ms",
         integer<std::uint64_t>([](C& c) -> std::uint64_t& { return c.engine.block_ms; }, 1, 3'600'000)},
        {"engine.empty_blocks", boolean([](C& c) -> bool& { return c.engine.empty_blocks; })},
        {"engine.proposer", set_proposer},
        {"log.level", set_level},
    };
    return table;
}

std::string known_keys() {
    std::string out;
    for (const Key& key : keys()) out += (out.empty() ? "" : ", ") + std::string(key.name);
    return out;
}

Status<> apply(const std::string& file, const std::string& name, const toml::node& node, Config& config) {
    const std::string where = file + ":" + std::to_string(node.source().begin.line) + ": " + name;
    for (const Key& key : keys()) {
        if (name != key.name) continue;
        const Status<> set = key.set(config, node);
        if (!set) return error(where + " " + set.error().message);
        return Unit{};
    }
    return error(where + " is not a known key; known are " + known_keys());
}

}  // namespace

Status<> parse_config(std::string_view source, const std::string& name, Config& config) {
    toml::table document;
    try {
        document = toml::parse(source, name);
    } catch (const toml::parse_error& e) {
        return error(name + ":" + std::to_string(e.source().begin.line) +
                     ": not TOML: " + std::string(e.description()));
    }
    for (const auto& [section, node] : document) {
        const std::string prefix(section.str());
        const toml::table* table = node.as_table();
        if (table == nullptr) {
            RETRACE_CHECK(apply(name, prefix, node, config));
            continue;
        }
        for (const auto& [key, value] : *table) {
            RETRACE_CHECK(apply(name, prefix + "." + std::string(key.str()), value, config));
        }
    }
    return Unit{};
}

Status<> load_config(const std::string& path, Config& config) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return error("cannot read the configuration file " + path + "; see --config");
    std::ostringstream text;
    text << file.rdbuf();
    return parse_config(text.str(), path, config);
}

Status<> check_published_keys(const Config& config) {
    if (is_loopback(config.rpc.host)) return Unit{};
    return error("a developer chain has published keys and listens on loopback only: rpc.host is " + config.rpc.host +
                 ", use 127.0.0.1, or drop --dev and give a genesis");
}

Status<> check(const Config& config) {
    if (config.data_dir.empty()) {
        return error("no data directory: name one with --data-dir DIR or node.data_dir in the configuration");
    }
    if (config.rpc.tls_cert.empty() != config.rpc.tls_key.empty()) {
        return error("rpc.tls_cert and rpc.tls_key belong together: the certificate's PEM file and its key's");
    }
    if (!config.rpc.tls_cert.empty() && !config.rpc.tls) {
        return error("rpc.tls_cert is given but rpc.tls is off; switch it on with --tls or rpc.tls = true");
    }
    const StorageConfig& storage = config.storage;
    if (storage.archive && storage.keep_blocks != 0) {
        return error("storage.archive keeps everything; leave out storage.keep_blocks");
    }
    if (storage.keep_blocks != 0 && storage.keep_blocks < storage.keep_states) {
        return error("storage.keep_blocks is " + std::to_string(storage.keep_blocks) +
                     "; it must be 0 (all) or at least storage.keep_states, " + std::to_string(storage.keep_states));
    }
    if (config.engine.kind == "comet" && config.dev) {
        return error(
            "a developer chain has no validators and runs on the embedded engine: drop --dev or --engine comet");
    }
    if (config.engine.kind == "comet" && !config.engine.empty_blocks) {
        return error("--engine comet makes empty blocks, because deadlines count blocks: drop --no-empty-blocks");
    }
    if (config.engine.kind != "comet" && (!config.engine.sync_from.empty() || storage.snapshot_every != 0))
        return error("--sync-from and --snapshot-every are for --engine comet; see also `retrace snapshot`");
    if (config.engine.kind == "comet" && config.engine.proposer) {
        return error("with --engine comet the genesis names the account of each validator: drop --proposer");
    }
    if (config.dev) RETRACE_CHECK(check_published_keys(config));
    return Unit{};
}

}  // namespace retrace::node
