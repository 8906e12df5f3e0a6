// SPDX-License-Identifier: MIT
#include "node/server/config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "market/validator.hpp"
#include "node/platform/data_dir.hpp"
#include "node/server/config/genesis_file.hpp"
#include "node/server/config/params_json.hpp"
#include "node/server/node.hpp"
#include "node/server/rules.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string failure(std::string_view text) {
    Config config;
    const auto parsed = parse_config(text, "node.toml", config);
    return parsed ? "" : parsed.error().message;
}

TEST(Config, ReadsEveryKey) {
    Config config;
    ASSERT_TRUE(parse_config(R"(
[node]
data_dir = "/tmp/x"
dev = true
genesis = "g.json"
[rpc]
host = "::1"
port = 9000
cors = ["https://a", "https://b"]
console = false
dial_back = "all"
allowed_hosts = ["node.example"]
connections = 10
connections_per_address = 3
requests_per_second = 0
tls = true
tls_cert = "c.pem"
tls_key = "k.pem"
[artifacts]
quota_mib = 1000
requester_quota_mib = 100
mib_per_coin = 10
[engine]
block_ms = 200
empty_blocks = false
proposer = "0x00000000000000000000000000000000000000AA"
[log]
level = "debug"
)",
                             "node.toml", config)
                    .has_value());
    EXPECT_EQ(config.data_dir, "/tmp/x");
    EXPECT_TRUE(config.dev);
    EXPECT_EQ(config.rpc.port, 9000);
    EXPECT_EQ(config.rpc.cors.size(), 2U);
    EXPECT_FALSE(config.rpc.console);
    EXPECT_EQ(config.rpc.dial_back, "all");
    EXPECT_EQ(config.rpc.allowed_hosts, std::vector<std::string>{"node.example"});
    EXPECT_EQ(config.artifacts.quota_mib, 1000U);
    EXPECT_EQ(config.artifacts.requester_quota_mib, 100U);
    EXPECT_EQ(config.artifacts.mib_per_coin, 10U);
    EXPECT_EQ(config.rpc.connections_per_address, 3U);
    EXPECT_EQ(config.rpc.requests_per_second, 0U);
    EXPECT_TRUE(config.rpc.tls);
    EXPECT_EQ(config.rpc.tls_cert + config.rpc.tls_key, "c.pemk.pem");
    EXPECT_EQ(config.engine.block_ms, 200U);
    EXPECT_FALSE(config.engine.empty_blocks);
    EXPECT_EQ(config.engine.proposer->bytes[19], 0xaa);
    EXPECT_EQ(config.log.level, "debug");
}

TEST(Config, ErrorsNameFileLineKeyAndRemedy) {
    EXPECT_EQ(failure("[rpc]\nport = 70000\n"), "node.toml:2: rpc.port must be an integer from 0 to 65535");
    EXPECT_EQ(failure("[rpc]\nport = \"1\"\n"), "node.toml:2: rpc.port must be an integer from 0 to 65535");
    EXPECT_THAT(failure("[rpc]\nprot = 1\n"),
                HasSubstr("node.toml:2: rpc.prot is not a known key; known are node.dev"));
    EXPECT_EQ(failure("[rpc]\ndial_back = \"some\"\n"), "node.toml:2: rpc.dial_back must be off, public or all");
    EXPECT_EQ(Config{}.rpc.dial_back, "public");
    EXPECT_THAT(failure("x = 1\n"), HasSubstr("x is not a known key"));
    EXPECT_THAT(failure("[log]\nlevel = \"loud\"\n"), HasSubstr("log.level must be one of trace"));
    EXPECT_THAT(failure("[engine]\nproposer = \"0x1\"\n"), HasSubstr("must be an address"));
    EXPECT_THAT(failure("[rpc\n"), HasSubstr("node.toml:1: not TOML"));
    Config config;
    EXPECT_THAT(load_config("/nonexistent.toml", config).error().message, HasSubstr("/nonexistent.toml"));
}

TEST(Config, ACertificateAndItsKeyBelongTogether) {
    Config config;
    config.data_dir = "d";
    config.rpc.tls_cert = "c.pem";
    config.rpc.tls = true;
    EXPECT_THAT(check(config).error().message, HasSubstr("belong together"));
    config.rpc.tls_key = "k.pem";
    EXPECT_TRUE(check(config).has_value());
    config.rpc.tls = false;
    EXPECT_THAT(check(config).error().message, HasSubstr("rpc.tls is off"));
}

TEST(Config, ADeveloperChainStaysOnLoopback) {
    Config config;
    config.data_dir = "x";
    config.dev = true;
    EXPECT_TRUE(check(config).has_value());
    config.rpc.host = "0.0.0.0";
    EXPECT_THAT(check(config).error().message, HasSubstr("loopback only"));
    config.dev = false;
    EXPECT_TRUE(check(config).has_value());
    config.data_dir.clear();
    EXPECT_THAT(check(config).error().message, HasSubstr("--data-dir"));
}

Result<ledger::Genesis> genesis(std::string_view text) {
    return parse_genesis(text, [](std::string_view json) -> Result<Bytes> { return to_bytes(view(json)); });
}

TEST(GenesisFile, IsReadStrictly) {
    const auto good = genesis(R"({"chainId": 99, "timestamp": 5, "gasLimit": 1000000, "baseFeePerGas": "7",
        "alloc": {"0x00000000000000000000000000000000000000aa": {"balance": "12"}}, "contracts": {"a":1}})");
    ASSERT_TRUE(good.has_value()) << good.error().message;
    EXPECT_EQ(good->chain_id, 99U);
    EXPECT_EQ(good->time_ns, 5'000'000'000U);
    EXPECT_EQ(good->base_fee, ledger::U256{7});
    EXPECT_EQ(good->alloc.begin()->second, ledger::U256{12});
    EXPECT_EQ(good->contracts, to_bytes(view(std::string_view(R"({"a":1})"))));
    EXPECT_THAT(genesis("[]").error().message, HasSubstr("not a JSON object"));
    EXPECT_THAT(genesis("{\"chainId\": 1,\n \"alloc\": {}\n,}").error().message, HasSubstr(", line 3"));
    EXPECT_THAT(genesis("{\"chainId\": 1,\n \"alloc\": {}}\n{").error().message, HasSubstr(", line 3"));
    EXPECT_THAT(genesis("{\"chainId\": 1,\n\n \"alloc\": {},\n \"x\": 1}").error().message,
                AllOf(HasSubstr("x is not known"), HasSubstr(", line 4")));
    const std::string account = "0x" + std::string(40, '1');
    EXPECT_THAT(
        genesis("{\"chainId\": 1,\n \"alloc\": {\n  \"" + account + "\": {\n   \"balance\": 5}}}").error().message,
        AllOf(HasSubstr("balance must be a decimal number in quotes"), HasSubstr(", line 4")));
    EXPECT_THAT(genesis(R"({"alloc":{}})").error().message, HasSubstr("chainId is missing"));
    EXPECT_THAT(genesis(R"({"chainId":1,"alloc":{},"x":1})").error().message, HasSubstr("x is not known"));
    EXPECT_THAT(genesis(R"({"chainId":-1,"alloc":{}})").error().message, HasSubstr("chainId must be"));
    EXPECT_THAT(genesis(R"({"chainId":1,"alloc":{"0x1":{"balance":"1"}}})").error().message, HasSubstr("no address"));
}

/// Reads a page of the operator documentation.
std::string page(const std::string& name) {
    const auto bytes = read_file(RETRACE_VECTORS "/../../docs/" + name, std::size_t{1} << 20);
    return bytes ? std::string(bytes->begin(), bytes->end()) : "";
}

TEST(OperatorPage, SaysWhatEachParameterAndEachKeyIs) {
    const std::string text = page("operator.md");
    for (const auto& [name, value] : params_to_json(default_params()))
        EXPECT_THAT(text, HasSubstr("`" + std::string(name) + "`"));
    for (const std::string name : {"chainId", "timestamp", "gasLimit", "baseFeePerGas", "alloc", "contracts"})
        EXPECT_THAT(text, HasSubstr("| `" + name + "`"));
    const std::string words = "known are ", unknown = failure("x = 1\n");
    std::size_t keys = 0;
    for (std::size_t at = unknown.find(words) + words.size(); at < unknown.size(); ++keys) {
        const std::size_t end = std::min(unknown.find(", ", at), unknown.size());
        EXPECT_THAT(text, HasSubstr("`" + unknown.substr(at, end - at) + "`"));
        at = end + 2;
    }
    EXPECT_GE(keys, 19U);
}

TEST(OperatorPage, ItsGenesisNamesEverythingWithTheDefaults) {
    const std::string text = page("examples/genesis.json");
    const auto read = parse_genesis(text, native_rules().encode_genesis);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->contracts, market::encode(default_params()));
    EXPECT_EQ(read->gas_limit, ledger::Genesis{}.gas_limit);
    EXPECT_EQ(read->base_fee, ledger::Genesis{}.base_fee);
    const auto named = boost::json::parse(text).as_object().at("contracts").as_object();
    for (const auto& [name, value] : params_to_json(default_params())) EXPECT_TRUE(named.contains(name)) << name;
}

Result<ledger::Genesis> native_genesis(const std::string& text) {
    return parse_genesis(text, native_rules().encode_genesis);
}

TEST(GenesisFile, ErrorsOfParametersHaveNameRangeAndLine) {
    const auto with = [](const std::string& parameter) {
        return native_genesis("{\"chainId\": 99, \"alloc\": {},\n \"contracts\": {\n  " + parameter + "}}")
            .error()
            .message;
    };
    EXPECT_EQ(with("\"bid_blocks\": 0"), "genesis: contracts.bid_blocks must be from 1 to 1000000000, line 3");
    EXPECT_EQ(with("\"moves\": 4,\n \"rounds\": 65"), "genesis: contracts.rounds must be from 1 to 64, line 4");
    EXPECT_EQ(with("\"safety_bp\": 9999"), "genesis: contracts.safety_bp must be from 10000 to 1000000, line 3");
    EXPECT_EQ(with("\"collusion_bp\": 10000"), "genesis: contracts.collusion_bp must be from 0 to 9999, line 3");
    EXPECT_EQ(with("\"min_verifier_stake\": \"0.001\""),
              "genesis: contracts.audit_bond must be at most min_verifier_stake");
    EXPECT_THAT(with("\"bid_blocks\": \"soon\""),
                AllOf(HasSubstr("contracts.bid_blocks must be"), HasSubstr(", line 3")));
    EXPECT_THAT(with("\"bids\": 1"), AllOf(HasSubstr("contracts.bids is not a parameter"), HasSubstr(", line 3")));
}

TEST(GenesisFile, NamesValidatorsInAnyOrder) {
    const std::string one(64, '1'), two(64, '2'),
        point = "0360fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6";
    const auto with = [&](const std::string& validators, const std::string& rules = {}) {
        return native_genesis(R"({"chainId": 99, "alloc": {}, "validators": )" + validators + rules + "}");
    };
    const auto entry = [&](const std::string& key, const std::string& power, const std::string& account = "aa") {
        return R"({"key": ")" + key + R"(", "vrfKey": ")" + point + R"(", "account": "0x)" + std::string(38, '0') +
               account + R"(", "power": )" + power + "}";
    };
    const auto good = with("[" + entry(two, "3000") + ", " + entry(one, "1000", "bb") + "]");
    ASSERT_TRUE(good.has_value()) << good.error().message;
    ASSERT_EQ(good->validators.size(), 2U);
    EXPECT_EQ(to_hex(view(good->validators[0].key)), one);
    EXPECT_EQ(good->validators[1].power, 3000U);
    EXPECT_EQ(to_hex(good->validators[1].vrf_key.bytes), point);
    EXPECT_EQ(market::decode_validator_rules(good->validator_rules).value(), market::ValidatorRules{});
    EXPECT_THAT(with("{}").error().message, HasSubstr("must be a list"));
    EXPECT_THAT(with("[{}]").error().message, HasSubstr("validators[0] must be"));
    EXPECT_THAT(with("[" + entry("12", "1") + "]").error().message, HasSubstr("validators[0].key"));
    EXPECT_THAT(with("[" + entry(one, "-1") + "]").error().message, HasSubstr("validators[0].power"));
    EXPECT_THAT(with("[" + entry(one, "1000") + "," + entry(one, "1000", "bb") + "]").error().message,
                HasSubstr("listed twice"));
    EXPECT_THAT(with("[" + entry(one, "1000") + "," + entry(two, "1000") + "]").error().message,
                HasSubstr("the account of another one"));
    EXPECT_THAT(with("[" + entry(one, "999") + "]").error().message, HasSubstr("a power of 999 is under 1000"));
}

TEST(GenesisFile, SetsTheRulesOfValidators) {
    const auto with = [&](const std::string& rules) {
        return native_genesis(
            R"({"chainId": 99, "alloc": {}, "validators": [{"key": ")" + std::string(64, '1') +
            R"(", "vrfKey": "0360fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6", "account": "0x)" +
            std::string(40, 'a') + R"(", "power": 5000}], "validatorRules": )" + rules + "}");
    };
    const auto with_epochs = [&](const std::string& rules, int blocks) {
        return with(rules + R"(, "contracts": {"epoch_blocks": )" + std::to_string(blocks) + "}");
    };
    const auto good = with_epochs(R"({"places": 7, "min_stake": "0.5", "jail_blocks": 9})", 18);
    ASSERT_TRUE(good.has_value()) << good.error().message;
    const auto rules = market::decode_validator_rules(good->validator_rules).value();
    EXPECT_EQ(rules.places, 7U);
    EXPECT_EQ(rules.min_stake, ledger::U256(500 * market::kMilli));
    EXPECT_EQ(rules.jail_blocks, 9U);
    EXPECT_THAT(with("[]").error().message, HasSubstr("must be an object"));
    EXPECT_THAT(with(R"({"places": "7"})").error().message, HasSubstr("places must be a whole number"));
    EXPECT_THAT(with(R"({"seats": 7})").error().message, HasSubstr("there are only places, min_stake"));
    EXPECT_THAT(with(R"({"places": 101})").error().message, HasSubstr("more than 100 places"));
    EXPECT_THAT(with(R"({"double_sign_bp": 10001})").error().message, HasSubstr("over 100 %"));
    EXPECT_THAT(with(R"({"min_stake": "0.0009"})").error().message, HasSubstr("the least stake"));
    EXPECT_THAT(with(R"({"unbond_blocks": 0})").error().message, HasSubstr("a duration"));
    EXPECT_THAT(with(R"({"unbond_blocks": 39999})").error().message, HasSubstr("more than half of the time to unbond"));
    EXPECT_THAT(with_epochs(R"({"places": 7, "min_stake": "2"})", 18).error().message, HasSubstr("at least 8000"));
    EXPECT_TRUE(with(R"({"min_stake": "2"})").has_value()) << "a closed set";
    // A run of censoring proposers has to be shorter than each window, and than half of an epoch of an open set.
    EXPECT_THAT(with(R"({"places": 10})").error().message,
                HasSubstr("epoch_blocks leaves 9 blocks, and 10 validators may decide"));
    EXPECT_THAT(with_epochs(R"({"places": 9})", 21).error().message,
                HasSubstr("epoch_blocks is under 22, two for each of the 9 validators"));
    EXPECT_TRUE(with_epochs(R"({"places": 9})", 22).has_value());
    EXPECT_TRUE(with_epochs(R"({"places": 0})", 7).has_value());
    EXPECT_THAT(with(R"({"places": 9, "downtime_blocks": 35})").error().message, HasSubstr("is under 36"));
    EXPECT_TRUE(with_epochs(R"({"places": 9, "downtime_blocks": 36})", 22).has_value());
    EXPECT_THAT(with_epochs(R"({"places": 4})", 12).error().message, HasSubstr("has at least 5"));
    EXPECT_THAT(native_genesis(R"({"chainId": 99, "alloc": {}, "validatorRules": {}})").error().message,
                HasSubstr("without validators"));
}

TEST(OperatorPage, ANodeStartsOnItsGenesis) {
    test::TemporaryFolder folder;
    Config config;
    config.data_dir = (folder.path() / "chain").string();
    config.genesis = RETRACE_VECTORS "/../../docs/examples/genesis.json";
    config.rpc.port = 0;
    const auto node = Node::open(config, native_rules());
    ASSERT_TRUE(node.has_value()) << node.error().message;
    const auto port = (*node)->start();
    ASSERT_TRUE(port.has_value()) << port.error().message;
    EXPECT_EQ((*node)->genesis().chain_id, 729801U);
    EXPECT_FALSE((*node)->status().halted);
    (*node)->stop();
}

}  // namespace
}  // namespace retrace::node
