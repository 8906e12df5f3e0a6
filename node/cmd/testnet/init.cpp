// SPDX-License-Identifier: MIT
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>

#include "merkle/base/durable_file.hpp"
#include "node/cmd/testnet/testnet.hpp"
#include "node/server/comet/home.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/server/config/genesis_file.hpp"
#include "node/server/rules.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// As much as a stake of a thousand coins.
constexpr std::int64_t kFounderPower = 1'000'000;

struct Validator {
    Hash32 key;
    ledger::VrfKey vrf_key;
    std::string node_id;
    fs::path folder;
};

bool is_local(const TestnetPlan& plan) { return plan.hosts.empty(); }

std::string host_of(const TestnetPlan& plan, std::size_t i) {
    return is_local(plan) ? "127.0.0." + std::to_string(i + 1) : plan.hosts[i];
}

Status<> check(const TestnetPlan& plan) {
    if (plan.validators == 0 || plan.validators > ledger::kValidatorsMax)
        return error("a network has 1 to " + std::to_string(ledger::kValidatorsMax) + " validators");
    if (plan.embedded && plan.validators != 1)
        return error("--engine solo is for --validators 1: several validators need CometBFT");
    if (!is_local(plan) && plan.hosts.size() != plan.validators)
        return error("--host is given " + std::to_string(plan.hosts.size()) + " times for " +
                     std::to_string(plan.validators) + " validators");
    for (const std::string& host : plan.hosts) {
        if (!engine::is_host_name(host))
            return error("--host \"" + host + "\" is no host name or IPv4 address, or IPv6 address in brackets");
        if (std::count(plan.hosts.begin(), plan.hosts.end(), host) != 1)
            return error("--host " + host + " is given twice");
    }
    if (plan.p2p_port == 0 || plan.rpc_port == 0) return error("a port is 1 to 65535");
    if (!is_local(plan) && plan.genesis.empty())
        return error("a network of several machines needs --genesis: the developer accounts have published keys");
    if (plan.accounts.size() != plan.validators && !(plan.accounts.empty() && plan.genesis.empty()))
        return error("--account is given " + std::to_string(plan.accounts.size()) + " times for " +
                     std::to_string(plan.validators) + " validators: each needs one, which receives its tips");
    std::error_code failed;
    if (fs::exists(plan.folder, failed) && !fs::is_empty(plan.folder, failed))
        return error(plan.folder.string() + " is not empty; choose a new folder");
    return Unit{};
}

/// A genesis for this machine only.
json::object developer_genesis() {
    json::object alloc;
    for (const auto& [address, coins] : dev_genesis({}).alloc)
        alloc[ledger::to_0x(address)] = json::object{{"balance", coins.to_decimal()}};
    return {
        {"chainId", kDevChainId}, {"alloc", std::move(alloc)}, {"contracts", json::object{{"developer_chain", true}}}};
}

Result<json::object> base_genesis(const TestnetPlan& plan) {
    if (plan.genesis.empty()) return developer_genesis();
    const auto bytes = read_file(plan.genesis, std::uint64_t{64} << 20);
    if (!bytes) return error(bytes.error().message);
    boost::system::error_code failed;
    json::value value = json::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, failed);
    if (failed || !value.is_object()) return error(plan.genesis + ": not a JSON object");
    if (value.get_object().contains("validators"))
        return error(plan.genesis + " names validators already; `retrace testnet init` makes their keys itself");
    return std::move(value.get_object());
}

Result<std::string> account_of(const TestnetPlan& plan, std::size_t i) {
    if (!plan.accounts.empty()) {
        if (!ledger::parse_address(plan.accounts[i])) return error(plan.accounts[i] + " is no address");
        return plan.accounts[i];
    }
    const auto key = wallet::account_key(kDevMnemonic, "", static_cast<std::uint32_t>(i));
    ensure(key.has_value(), "the developers' mnemonic is valid");
    return ledger::to_0x(key->address());
}

Status<> write_text(const fs::path& path, const std::string& text, mode_t mode) {
    const auto written = write_durably(path, {view(std::string_view(text))}, mode);
    if (!written) return error(written.error().message);
    return Unit{};
}

Result<Validator> make_validator(const fs::path& folder) {
    // Where `retrace node` looks for them: the home of CometBFT in its data directory.
    RETRACE_TRY(keys, engine::make_keys(folder / "data" / "comet"));
    std::error_code failed;
    fs::permissions(folder / "data", fs::perms::owner_all, failed);
    if (failed) return error(folder.string() + ": " + failed.message());
    return Validator{keys.key, keys.vrf.key(), keys.node_id, folder};
}

/// What the configuration says of the other nodes.
std::string peers_text(const TestnetPlan& plan, const std::vector<Validator>& validators, std::size_t own) {
    std::string peers;
    for (std::size_t i = 0; i < validators.size(); ++i) {
        if (i == own) continue;
        peers += (peers.empty() ? "\"" : ", \"") + validators[i].node_id + "@" + host_of(plan, i) + ":" +
                 std::to_string(plan.p2p_port) + "\"";
    }
    const std::string local = is_local(plan) ? "true" : "false";
    return "p2p_host = \"" + (is_local(plan) ? host_of(plan, own) : std::string("0.0.0.0")) +
           "\"\n"
           "p2p_port = " +
           std::to_string(plan.p2p_port) +
           "\n"
           "peers = [" +
           peers +
           "]\n"
           "private_network = " +
           local + "\n";
}

std::string config_text(const TestnetPlan& plan, const std::vector<Validator>& validators, std::size_t own) {
    return "# Made by `retrace testnet init`. Start in this folder: retrace node --config retrace.toml\n"
           "[node]\n"
           "data_dir = \"data\"\n"
           "genesis = \"genesis.json\"\n"
           "[rpc]\n"
           "host = \"" +
           (is_local(plan) ? host_of(plan, own) : std::string("127.0.0.1")) +
           "\"\n"
           "port = " +
           std::to_string(plan.rpc_port) + "\n" +
           (plan.embedded ? "[engine]\nkind = \"solo\"\n"
                          : "[storage]\nsnapshot_every = 1000\n[engine]\nkind = \"comet\"\n") +
           "block_ms = " + std::to_string(plan.block_ms) + "\n" +
           (plan.embedded ? "" : peers_text(plan, validators, own));
}

Result<Testnet> write_all(const TestnetPlan& plan, const fs::path& folder) {
    RETRACE_TRY(genesis, base_genesis(plan));
    std::vector<Validator> validators;
    json::array list;
    for (std::uint32_t i = 0; i < plan.validators; ++i) {
        RETRACE_TRY(made, make_validator(folder / ("node" + std::to_string(i))));
        RETRACE_TRY(account, account_of(plan, i));
        list.push_back(json::object{{"key", to_hex(view(made.key))},
                                    {"vrfKey", to_hex(made.vrf_key.bytes)},
                                    {"account", account},
                                    {"power", kFounderPower}});
        validators.push_back(std::move(made));
    }
    genesis["validators"] = std::move(list);
    if (!genesis.contains("timestamp")) genesis["timestamp"] = static_cast<std::int64_t>(std::time(nullptr));
    const std::string text = json::serialize(genesis) + "\n";
    RETRACE_TRY(parsed, parse_genesis(text, native_rules().encode_genesis));

    Testnet out;
    out.genesis_hash = to_hex(view(ledger::genesis_hash(parsed)));
    out.chain = engine::comet_chain_id(parsed);
    for (std::size_t i = 0; i < validators.size(); ++i) {
        RETRACE_CHECK(write_text(validators[i].folder / "genesis.json", text, 0644));
        RETRACE_CHECK(write_text(validators[i].folder / "retrace.toml", config_text(plan, validators, i), 0644));
        out.folders.push_back(plan.folder / validators[i].folder.filename());
        out.rpc.push_back(is_local(plan) ? "http://" + host_of(plan, i) + ":" + std::to_string(plan.rpc_port) : "");
    }
    return out;
}

}  // namespace

Result<Testnet> init_testnet(const TestnetPlan& given) {
    TestnetPlan plan = given;
    plan.folder = fs::absolute(plan.folder).lexically_normal();
    if (!plan.folder.has_filename()) plan.folder = plan.folder.parent_path();  // "network/"
    RETRACE_CHECK(check(plan));
    fs::path unfinished = plan.folder;
    unfinished += std::string(kUnfinished);
    std::error_code failed;
    fs::remove_all(unfinished, failed);
    fs::create_directories(unfinished, failed);
    if (failed) return error(unfinished.string() + ": " + failed.message());
    auto made = write_all(plan, unfinished);
    if (made) {
        fs::remove(plan.folder, failed);  // an empty folder
        fs::rename(unfinished, plan.folder, failed);
        if (failed) made = error(plan.folder.string() + ": " + failed.message());
    }
    if (!made) fs::remove_all(unfinished, failed);
    return made;
}

}  // namespace retrace::node
