// SPDX-License-Identifier: MIT
// The files of CometBFT's home.
#include "node/server/comet/home.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "market/validator.hpp"
#include "node/platform/base64.hpp"
#include "node/server/comet/consensus_key.hpp"
#include "node/server/config/dev_chain.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

using engine::CometHome;
using testing::HasSubstr;
namespace fs = std::filesystem;

ledger::Genesis genesis() {
    ledger::Genesis out = dev_genesis({});
    ledger::Validator validator;
    validator.key.bytes.fill(7);
    validator.account = dev_key(0).address();
    validator.power = 3;
    out.validators.push_back(validator);
    out.validator_rules = market::encode(market::ValidatorRules{});
    return out;
}

std::string read(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

class CometFiles : public testing::Test {
protected:
    CometFiles() { home_.folder = folder_.file("comet"); }
    TempFolder folder_;
    CometHome home_;
};

TEST_F(CometFiles, AddressIsTheBeginningOfTheKeysHash) {
    // Made by `cometbft gen-validator` (0.38.25).
    const auto key = from_base64("y4sKBIpbkna3NOKLkIXDt+JvT4KCXVjUvH4rf4kHuNM=", 32);
    ASSERT_TRUE(key.has_value());
    EXPECT_EQ(to_hex(ledger::consensus_address(to_hash32(*key))), "f53b7daf86d7c58f120074c1df2d8b97cdfb1967");
}

TEST_F(CometFiles, Base64IsThatOfTheRfc) {
    for (const auto& [plain, coded] : {std::pair{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foobar", "Zm9vYmFy"}}) {
        EXPECT_EQ(to_base64(view(std::string_view(plain))), coded);
        EXPECT_EQ(from_base64(coded, std::string_view(plain).size()), to_bytes(view(std::string_view(plain))));
    }
    EXPECT_FALSE(from_base64("Zg==", 2).has_value());
    EXPECT_FALSE(from_base64("Z!==", 1).has_value());
}

TEST_F(CometFiles, KeysAreMadeOnceAndReadableByTheirOwnerOnly) {
    ASSERT_TRUE(engine::write_comet_home(home_, genesis()).has_value());
    const fs::path key = home_.folder / "config" / "priv_validator_key.json";
    const std::string before = read(key), id = *engine::make_node_key(home_.folder / "config" / "node_key.json");
    ASSERT_TRUE(engine::write_comet_home(home_, genesis()).has_value());
    EXPECT_EQ(read(key), before);
    EXPECT_EQ(*engine::make_node_key(home_.folder / "config" / "node_key.json"), id);
    EXPECT_EQ(id.size(), 40U);
    for (const fs::path& path : {key, home_.folder / "config" / "node_key.json"})
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(fs::status(home_.folder).permissions(), fs::perms::owner_all);
    // The address in the file is that of its public key.
    const json::value file = json::parse(before);
    const auto public_key = from_base64(std::string(file.at("pub_key").at("value").as_string()), 32);
    ASSERT_TRUE(public_key.has_value());
    EXPECT_EQ(file.at("address").as_string(), to_hex(ledger::consensus_address(to_hash32(*public_key))));
}

TEST_F(CometFiles, ADamagedKeyIsNoReasonToMakeANewOne) {
    ASSERT_TRUE(engine::write_comet_home(home_, genesis()).has_value());
    const fs::path key = home_.folder / "config" / "priv_validator_key.json";
    std::ofstream(key) << "{}";
    const auto written = engine::write_comet_home(home_, genesis());
    ASSERT_FALSE(written.has_value());
    EXPECT_THAT(written.error().message, HasSubstr("holds no ed25519 key"));
    EXPECT_EQ(read(key), "{}");
}

TEST_F(CometFiles, GenesisIsWrittenFromOurs) {
    const json::value file = json::parse(engine::comet_genesis(genesis()));
    EXPECT_EQ(file.at("genesis_time").as_string(), "2026-01-01T00:00:00.000000000Z");
    EXPECT_EQ(file.at("chain_id").as_string(), engine::comet_chain_id(genesis()));
    EXPECT_EQ(file.at("app_state").as_string(), to_hex(view(ledger::genesis_hash(genesis()))));
    ASSERT_EQ(file.at("validators").as_array().size(), 1U);
    const json::value& validator = file.at("validators").at(0);
    EXPECT_EQ(validator.at("power").as_string(), "3");
    EXPECT_EQ(validator.at("pub_key").at("value").as_string(), "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
    // CometBFT refuses names of more than 50 bytes.
    ledger::Genesis longest = genesis();
    longest.chain_id = ledger::kChainIdMax;
    EXPECT_LE(engine::comet_chain_id(longest, engine::CometLine::v0_40).size(), 50U);
    EXPECT_NE(engine::comet_chain_id(longest, engine::CometLine::v0_40), engine::comet_chain_id(longest));
}

TEST_F(CometFiles, RefusesWhatCometBftCouldNotRun) {
    const auto refusal = [&](const CometHome& home, const ledger::Genesis& chain) {
        const auto written = engine::write_comet_home(home, chain);
        return written ? std::string() : written.error().message;
    };
    ledger::Genesis none = genesis();
    none.validators.clear();
    EXPECT_THAT(refusal(home_, none), HasSubstr("names no validators"));
    ledger::Genesis timeless = genesis();
    timeless.time_ns = 0;
    EXPECT_THAT(refusal(home_, timeless), HasSubstr("timestamp"));
    const std::string id(40, 'a');
    for (const std::string& peer : {std::string("@host:1"), std::string("host:1"), id + "@x\"\n[rpc]:1", id + "@host",
                                    id + "@host:", id + "@host:port", id + "@host:0", id + "@host:65536", id + "@::1:1",
                                    id + "@host:1:2", id + "@:1", std::string(40, 'g') + "@host:1"}) {
        CometHome home = home_;
        home.peers = {peer};
        EXPECT_THAT(refusal(home, genesis()), HasSubstr("is not ID@HOST:PORT")) << peer;
    }
    CometHome bad_host = home_;
    bad_host.p2p_host = "0.0.0.0\"\nlog_level = \"debug";
    EXPECT_THAT(refusal(bad_host, genesis()), HasSubstr("no address"));
    CometHome good = home_;
    good.peers = {id + "@node.example.org:26656", id + "@[::1]:26656"};
    EXPECT_EQ(refusal(good, genesis()), "");
    ledger::Genesis other = genesis();
    other.chain_id = 5;
    EXPECT_THAT(refusal(good, other), HasSubstr("another chain"));
}

TEST_F(CometFiles, StateSyncAsksAtLeastTwoNodesFromATrustedBlock) {
    home_.sync = engine::SyncSource{{"http://127.0.0.1:8545", "https://node.example.org:443"}, 5, std::string(64, 'a')};
    ASSERT_TRUE(engine::write_comet_home(home_, genesis()).has_value());
    const std::string config = read(home_.folder / "config" / "config.toml");
    EXPECT_THAT(config, HasSubstr("rpc_servers = \"http://127.0.0.1:8545/comet,https://node.example.org:443/comet\""));
    EXPECT_THAT(config, HasSubstr("trust_height = 5\ntrust_hash = \"" + std::string(64, 'a') + "\""));
    EXPECT_THAT(config, HasSubstr("priv_validator_key_file = \"data/sync_key.json\""));
    EXPECT_THAT(config, HasSubstr("max_num_inbound_peers = 0"));
    const engine::SyncSource good = *home_.sync;
    const auto refusal = [&](const std::function<void(engine::SyncSource&)>& change) {
        home_.sync = good;
        change(*home_.sync);
        const auto written = engine::write_comet_home(home_, genesis());
        return written ? std::string() : written.error().message;
    };
    EXPECT_THAT(refusal([](auto& sync) { sync.nodes.pop_back(); }), HasSubstr("at least two nodes"));
    EXPECT_THAT(refusal([](auto& sync) { sync.nodes[1] = sync.nodes[0]; }), HasSubstr("is given twice"));
    for (const char* url : {"ftp://a", "http://a\"\nrpc", "http://", "http://a,http://b", "127.0.0.1:8545", "http:/"})
        EXPECT_THAT(refusal([&](auto& sync) { sync.nodes[0] = url; }), HasSubstr("is no URL")) << url;
    EXPECT_THAT(refusal([](auto& sync) { sync.height = 0; }), HasSubstr("--trust-height"));
    EXPECT_THAT(refusal([](auto& sync) { sync.hash.back() = '"'; }), HasSubstr("--trust-hash"));
    EXPECT_THAT(refusal([](auto& sync) { sync.hash.pop_back(); }), HasSubstr("--trust-hash"));
    home_.sync.reset();
    ASSERT_TRUE(engine::write_comet_home(home_, genesis()).has_value());
    const std::string later = read(home_.folder / "config" / "config.toml");
    for (const char* gone : {"statesync", "sync_key", "max_num_inbound_peers"})
        EXPECT_EQ(later.find(gone), std::string::npos) << gone;
}

TEST_F(CometFiles, AKeyWithoutItsRecordIsRefused) {
    ASSERT_TRUE(engine::write_comet_home(home_, genesis()).has_value());
    fs::remove(home_.folder / "data" / "priv_validator_state.json");
    const auto refused = engine::write_comet_home(home_, genesis());
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("the key would sign twice"));
    EXPECT_FALSE(fs::exists(home_.folder / "data" / "priv_validator_state.json"));
}

}  // namespace
}  // namespace retrace::node::test
