// SPDX-License-Identifier: MIT
// An open set of validators with the real CometBFT: one joins by stake, two that stand still are jailed and one of them
// comes back, and one whose key votes twice loses stake and its place.
#include "ledger/block/report_log.hpp"
#include "ledger/state/supply.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/wallet/mnemonic.hpp"
#include "tests/functional/comet/testnet_fixture.hpp"

namespace retrace::node {
namespace {

constexpr std::uint64_t kWindow = 40, kEpoch = 14;

class OpenSet : public TestnetTest {
protected:
    void change_genesis() override {
        for (std::size_t i = 0; i < kValidators; ++i) {
            const fs::path path = folder_ / ("node" + std::to_string(i)) / "genesis.json";
            std::ifstream in(path);
            json::value genesis = json::parse(std::string{std::istreambuf_iterator<char>(in), {}});
            genesis.as_object()["validatorRules"] = {
                {"places", 5}, {"min_stake", "0.001"}, {"downtime_blocks", kWindow}, {"jail_blocks", 5}};
            genesis.as_object()["contracts"] = {{"epoch_blocks", kEpoch}};
            for (json::value& founder : genesis.at("validators").as_array()) founder.as_object()["power"] = 4'000;
            std::ofstream(path) << json::serialize(genesis) << '\n';
        }
    }
    static std::string account(std::uint32_t i) {
        return ledger::to_0x(wallet::account_key(kDevMnemonic, "", i)->address());
    }
    int sign(int account, std::vector<std::string> arguments) {
        const std::vector<std::string> more{"--dev-account", std::to_string(account), "--node", network_->urls()[0]};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return command(arguments);
    }
    json::object validator(std::uint32_t i) {
        if (command({"validator", "show", account(i), "--json", "--node", network_->urls()[0]}) != 0) return {};
        return json::parse(output().substr(0, output().find('\n'))).as_object();
    }
    template <class Condition>
    ::testing::AssertionResult shows(std::uint32_t i, Condition condition) {
        const auto end = Clock::now() + 90s;
        json::object seen;
        while (Clock::now() < end) {
            seen = validator(i);
            if (!seen.empty() && condition(seen)) return ::testing::AssertionSuccess();
            std::this_thread::sleep_for(200ms);
        }
        return ::testing::AssertionFailure() << json::serialize(seen);
    }
    bool has_caught_up(std::size_t node) {
        const auto end = Clock::now() + 60s;
        while (Clock::now() < end) {
            const json::value status = ask(node, "retrace_status", {});
            if (status.is_object() && !status.at("syncing").as_bool()) return true;
            std::this_thread::sleep_for(200ms);
        }
        return false;
    }
    static std::int64_t number(const json::object& seen, const char* name) {
        return seen.at(name).to_number<std::int64_t>();
    }
    std::size_t shares_at(std::uint64_t height) {
        const json::value logs = ask(0, "eth_getLogs",
                                     {json::object{{"fromBlock", hex(height)},
                                                   {"toBlock", hex(height)},
                                                   {"address", ledger::to_0x(ledger::ledger_address())}}});
        if (!logs.is_array() || logs.as_array().empty()) return 0;
        const json::object& found = logs.as_array()[0].as_object();
        const ledger::Log log{ledger::ledger_address(),
                              {to_hash32(*from_hex(found.at("topics").as_array()[0].as_string()))},
                              *from_hex(found.at("data").as_string())};
        const auto report = ledger::read_report(std::vector{log});
        return report ? report->shares.size() : 0;
    }
};

TEST_F(OpenSet, TakesWhoStakesAndExpelsWhoFails) {
    // The first block of an epoch brings the shares of more than two thirds.
    ASSERT_TRUE(reaches(0, kEpoch + 1));
    EXPECT_GE(shares_at(kEpoch), 3U);
    EXPECT_EQ(shares_at(kEpoch + 1), 0U);

    // The follower becomes a validator, with most of the power that decides without two of the founders.
    ASSERT_EQ(sign(6, {"validator", "register", "--data-dir", (folder_ / "node4" / "data").string()}), 0) << output();
    ASSERT_NE(sign(6, {"validator", "bond", "12"}), 0);
    EXPECT_THAT(output(), testing::HasSubstr("stake_too_low"));
    ASSERT_EQ(sign(6, {"stake", "deposit", "20"}), 0) << output();
    ASSERT_EQ(sign(6, {"validator", "bond", "12"}), 0) << output();
    ASSERT_TRUE(shows(6, [](const json::object& seen) { return number(seen, "power") == 12'000; }));
    // The one that will be cloned has something to lose.
    ASSERT_EQ(sign(3, {"stake", "deposit", "1"}), 0) << output();
    ASSERT_EQ(sign(3, {"validator", "bond", "0.1"}), 0) << output();
    ASSERT_EQ(sign(3, {"validator", "unbond", "0.1"}), 0) << output();
    ASSERT_TRUE(reaches(0, height(0) + 4));  // CometBFT has the new power two blocks after the election.
    network_->node(2).kill();
    network_->node(3).kill();
    ASSERT_TRUE(reaches(0, height(0) + 5)) << "the newcomer votes";

    // Those that stand still leave the set, and come back when they say so.
    ASSERT_TRUE(shows(3, [](const json::object& seen) { return number(seen, "jailed_until") != 0; }));
    EXPECT_EQ(number(validator(3), "power"), 0);
    ASSERT_TRUE(network_->restart(2).has_value());
    ASSERT_TRUE(network_->restart(3).has_value());
    ASSERT_TRUE(network_->await(3, 60s).has_value());
    // Until it has fetched the blocks it does not vote, and is jailed again for a silent first epoch.
    ASSERT_TRUE(has_caught_up(3));
    ASSERT_TRUE(reaches(3, height(0) + 5));
    ASSERT_TRUE(reaches(0, static_cast<std::uint64_t>(number(validator(3), "jailed_until"))));
    ASSERT_EQ(sign(3, {"validator", "unjail"}), 0) << output();
    ASSERT_TRUE(shows(3, [](const json::object& seen) { return number(seen, "power") == 4'000; }));
    ASSERT_TRUE(reaches(0, height(0) + kEpoch + 1));
    EXPECT_EQ(number(validator(3), "power"), 4'000) << "it has voted for an epoch";

    // A second machine with the same key: sooner or later both propose at one height, and each votes for its own block.
    const fs::path from = folder_ / "node3", to = folder_ / "clone";
    fs::create_directories(to / "data" / "comet" / "config");
    fs::create_directories(to / "data" / "comet" / "data");
    for (const char* name : {"priv_validator_key.json", "vrf_key"})
        fs::copy_file(from / "data" / "comet" / "config" / name, to / "data" / "comet" / "config" / name);
    std::ofstream(to / "data" / "comet" / "data" / "priv_validator_state.json")
        << R"({"height": "0", "round": 0, "step": 0})";
    auto clone = Process::start(
        RETRACE_PROGRAM,
        {"node", "--config", (folder_ / "node4" / "retrace.toml").string(), "--data-dir", (to / "data").string(),
         "--genesis", (from / "genesis.json").string(), "--rpc-host", "127.0.0.6", "--p2p-host", "127.0.0.6"},
        to / "node.log");
    ASSERT_TRUE(clone.has_value());
    ASSERT_TRUE(shows(3, [](const json::object& seen) { return seen.at("double_signed").as_bool(); }));
    const json::object punished = validator(3);
    EXPECT_EQ(number(punished, "power"), 0);
    EXPECT_EQ(punished.at("leaving").as_string(), "94990500000000000") << "0.1, less 1 bp for missed votes, less 5 %";
    EXPECT_NE(sign(3, {"validator", "bond", "0.1"}), 0);
    clone->kill();
    const std::uint64_t now = height(0);
    ASSERT_TRUE(reaches(0, now + 3));
    expect_equal_chains(now + 3);

    // The validators decide on rules that nobody's program has: all nodes stop before that block and say so.
    const std::string at = std::to_string((height(0) / kEpoch + 3) * kEpoch);
    for (int account : {0, 1, 6}) ASSERT_EQ(sign(account, {"validator", "vote-upgrade", "2", at}), 0) << output();
    EXPECT_THAT(output(), testing::HasSubstr("rules version 1, version 2 from block " + at));
    const auto end = Clock::now() + 60s;
    while (network_->node(0).running() && Clock::now() < end) std::this_thread::sleep_for(100ms);
    EXPECT_EQ(network_->node(0).exit_status(), 1);
    std::ifstream in(folder_ / "node0" / "node.log");
    const std::string log{std::istreambuf_iterator<char>(in), {}};
    EXPECT_THAT(log, testing::HasSubstr("block " + at + " is executed by version 2 of the rules"));
}

}  // namespace
}  // namespace retrace::node
