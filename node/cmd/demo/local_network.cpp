// SPDX-License-Identifier: MIT
#include "node/cmd/demo/local_network.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <thread>

#include "node/server/config/dev_chain.hpp"
#include "node/server/config/params_json.hpp"
#include "node/wallet/keystore.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kPassphrase = "these keys are published";
constexpr auto kStartTimeout = std::chrono::seconds(20);

/// Deadlines for blocks of 200 ms, long enough for two busy cores.
json::object demo_params() {
    return {{"developer_chain", true},     {"epoch_blocks", 5},      {"bid_blocks", 6},
            {"reveal_blocks", 5},          {"accept_blocks", 100},   {"checkpoint_blocks", 60},
            {"open_blocks", 60},           {"verdict_blocks", 60},   {"reveal_segment_blocks", 60},
            {"reveal_verdict_blocks", 60}, {"challenge_blocks", 15}, {"deliver_blocks", 200},
            {"answer_blocks", 60},         {"unbond_blocks", 6000},  {"capability_blocks", 12}};
}

Status<> write_text(const fs::path& path, const std::string& text) {
    std::ofstream out(path);
    out << text;
    out.flush();
    if (!out) return error(path.string() + ": cannot be written");
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    return Unit{};
}

}  // namespace

std::string_view name_of(Role role) noexcept {
    switch (role) {
        case Role::requester: return "requester";
        case Role::honest_solver: return "honest solver";
        case Role::cheating_solver: return "cheating solver";
        case Role::verifier_1: return "verifier 1";
        case Role::verifier_2: return "verifier 2";
        case Role::verifier_3: return "verifier 3";
    }
    return "";
}

std::vector<Party> market_parties() {
    std::vector<Party> out;
    for (std::uint32_t i = 0; i < kRoles; ++i) {
        const bool solves = Role{i} == Role::honest_solver || Role{i} == Role::cheating_solver;
        const Party::Kind kind = Role{i} == Role::requester ? Party::Kind::requester
                                 : solves                   ? Party::Kind::solver
                                                            : Party::Kind::verifier;
        out.push_back({kind, std::string(name_of(Role{i}))});
    }
    return out;
}

Result<std::unique_ptr<LocalNetwork>> LocalNetwork::assemble(const fs::path& folder, const fs::path& executable,
                                                             std::uint64_t block_ms,
                                                             const std::map<std::string, std::uint64_t>& params,
                                                             bool tls, std::uint32_t validators,
                                                             std::vector<Party> parties) {
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) return error(folder.string() + ": " + code.message());
    std::unique_ptr<LocalNetwork> network(new LocalNetwork(fs::absolute(folder), executable, block_ms, tls));
    RETRACE_TRY(port, free_port());
    network->port_ = port;
    network->validators_ = validators;
    network->all_ = std::move(parties);
    network->url_ = "http://127.0.0.1:" + std::to_string(port);
    if (tls) network->url_.insert(4, "s").append("#ca=" + (network->folder_ / "node" / "tls-cert.pem").string());
    RETRACE_CHECK(network->write_files(params));
    return network;
}

Status<> LocalNetwork::write_files(const std::map<std::string, std::uint64_t>& params) {
    json::object alloc;
    for (const auto& [address, coins] : dev_genesis({}).alloc) {
        alloc[ledger::to_0x(address)] = json::object{{"balance", coins.to_decimal()}};
    }
    const ledger::U256 more = dev_genesis({}).alloc.begin()->second;
    for (std::uint32_t i = kDevAccounts; i < all_.size(); ++i)
        alloc[ledger::to_0x(address(Role{i}))] = json::object{{"balance", more.to_decimal()}};
    json::object contracts = demo_params();
    for (const auto& [name, blocks] : params) contracts[name] = blocks;
    const json::object genesis{{"chainId", kDevChainId},
                               {"timestamp", 1'767'225'600},
                               {"alloc", std::move(alloc)},
                               {"contracts", std::move(contracts)}};
    RETRACE_CHECK(write_text(folder_ / "genesis.json", json::serialize(genesis)));
    RETRACE_CHECK(write_text(folder_ / "passphrase", kPassphrase));
    for (std::uint32_t i = 0; i < all_.size(); ++i) {
        const fs::path path = folder_ / ("key-" + std::to_string(i) + ".json");
        if (fs::exists(path)) continue;
        RETRACE_CHECK(write_text(path, wallet::encrypt_keystore(key(Role{i}), kPassphrase, wallet::kLightScrypt)));
    }
    return Unit{};
}

ledger::SecretKey LocalNetwork::key(Role role) const {
    auto key = wallet::account_key(kDevMnemonic, "", static_cast<std::uint32_t>(role));
    ensure(key.has_value(), "the developers' mnemonic is valid");
    return std::move(*key);
}

ledger::Address LocalNetwork::address(Role role) const { return key(role).address(); }

Status<> LocalNetwork::start_validators() {
    const fs::path folder = folder_ / "validators";
    if (!fs::exists(folder)) {
        RETRACE_TRY(p2p, free_port());
        TestnetPlan plan;
        plan.folder = folder;
        plan.validators = validators_;
        plan.block_ms = block_ms_;
        plan.p2p_port = p2p;
        plan.rpc_port = port_;
        plan.genesis = (folder_ / "genesis.json").string();
        // Developer accounts that have no other role.
        for (std::uint32_t i = 0; i < validators_; ++i)
            plan.accounts.push_back(ledger::to_0x(key(Role{kRoles + i % (kDevAccounts - kRoles)}).address()));
        RETRACE_CHECK(init_testnet(plan));
    }
    RETRACE_TRY(network, TestnetProcesses::start(folder, executable_, kStartTimeout));
    testnet_.emplace(std::move(network));
    return trust_a_block();
}

Status<> LocalNetwork::trust_a_block() {
    const auto url = parse_url(testnet_->urls().back());
    if (!url) return error(url.error().message);
    const light::BlockSource source = light::node_source(*url);
    const auto end = std::chrono::steady_clock::now() + kStartTimeout;
    for (;;) {
        const auto block = source(2);  // Block 1 has the genesis' time, which is long past.
        if (block) {
            trusted_ = light::TrustedBlock{2, to_hex(view(hash_of(block->header)))};
            return Unit{};
        }
        if (std::chrono::steady_clock::now() > end) return error(block.error().message);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

Status<> LocalNetwork::start_node(const std::vector<std::string>& arguments) {
    if (validators_ != 0) return start_validators();
    std::vector<std::string> all{"node",
                                 "--genesis",
                                 (folder_ / "genesis.json").string(),
                                 "--data-dir",
                                 (folder_ / "node").string(),
                                 "--rpc-port",
                                 std::to_string(port_),
                                 "--block-ms",
                                 std::to_string(block_ms_)};
    if (tls_) all.emplace_back("--tls");
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto process = Process::start(executable_, all, log_of("node"));
    if (!process) return Unexpected{process.error()};
    node_ = std::make_unique<Process>(std::move(*process));
    const auto end = std::chrono::steady_clock::now() + kStartTimeout;
    while (std::chrono::steady_clock::now() < end) {
        if (!node_->running()) break;
        auto client = RpcClient::connect(url_);
        if (client && client->height()) return Unit{};
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return error("the node did not start; its log is " + log_of("node").string());
}

Status<> LocalNetwork::start(Role role, const std::vector<std::string>& arguments, const std::string& url) {
    const bool solver = all_.at(static_cast<std::uint32_t>(role)).kind == Party::Kind::solver;
    const std::string number = std::to_string(static_cast<std::uint32_t>(role));
    std::vector<std::string> all{solver ? "solver" : "verifier",
                                 "--node",
                                 url.empty() ? url_ : url,
                                 "--key",
                                 (folder_ / ("key-" + number + ".json")).string(),
                                 "--passphrase-file",
                                 (folder_ / "passphrase").string(),
                                 "--data-dir",
                                 (folder_ / ("party-" + number)).string(),
                                 "--threads",
                                 "1"};
    if (trusted_)
        all.insert(all.end(), {"--trust-height", std::to_string(trusted_->height), "--trust-hash", trusted_->hash});
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto process = Process::start(executable_, all, log_of(name(role)));
    if (!process) return Unexpected{process.error()};
    parties_.erase(role);
    parties_.emplace(role, std::move(*process));
    return Unit{};
}

void LocalNetwork::kill(Role role) {
    if (const auto found = parties_.find(role); found != parties_.end()) {
        found->second.kill();
        parties_.erase(found);
    }
}

void LocalNetwork::kill_node() {
    if (node_) node_->kill();
}

bool LocalNetwork::running(Role role) {
    const auto found = parties_.find(role);
    return found != parties_.end() && found->second.running();
}

std::optional<std::string> LocalNetwork::ended_process() {
    if (node_ && !node_->running()) return "node";
    if (testnet_ && !testnet_->node(0).running()) return "validator 0";
    for (auto& [role, process] : parties_) {
        if (!process.running()) return name(role);
    }
    return std::nullopt;
}

}  // namespace retrace::node
