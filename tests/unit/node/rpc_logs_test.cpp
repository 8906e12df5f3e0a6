// SPDX-License-Identifier: MIT
// eth_getLogs and the polled filters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

const std::string kFirst = "0x11" + std::string(62, '0');
const std::string kSecond = "0x22" + std::string(62, '0');
const std::string kOther = "0x33" + std::string(62, '0');

std::string toy() {
    return ledger::to_0x(ToyExecutor::contract());
}

std::string emit(RpcWorld& world, std::uint8_t what) {
    return world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::emit, what}));
}

std::size_t count(RpcWorld& world, const json::object& filter) {
    return world.result("eth_getLogs", {filter}).as_array().size();
}

TEST(RpcLogs, HaveTheirPlace) {
    RpcWorld world;
    emit(world, 1);
    const std::string hash = emit(world, 2);
    world.mine();
    const json::array logs = world.result("eth_getLogs", {json::object{{"fromBlock", "0x0"}}}).as_array();
    ASSERT_EQ(logs.size(), 2U);
    const json::object log = logs[1].as_object();
    EXPECT_EQ(text(log.at("address")), toy());
    EXPECT_EQ(log.at("topics"), (json::array{kFirst, kSecond}));
    EXPECT_EQ(log.at("data"), "0x02");
    EXPECT_EQ(log.at("blockNumber"), "0x1");
    EXPECT_EQ(text(log.at("transactionHash")), hash);
    EXPECT_EQ(log.at("transactionIndex"), "0x1");
    EXPECT_EQ(log.at("logIndex"), "0x1");
    EXPECT_EQ(log.at("removed"), false);
    EXPECT_EQ(world.result("eth_getTransactionReceipt", {hash}).at("logs").at(0), log);
}

TEST(RpcLogs, FilterByAddressAndTopics) {
    RpcWorld world;
    emit(world, 1);
    world.mine();
    EXPECT_EQ(count(world, {{"address", toy()}}), 1U);
    EXPECT_EQ(count(world, {{"address", json::array{toy(), "0x" + std::string(40, '1')}}}), 1U);
    EXPECT_EQ(count(world, {{"address", "0x" + std::string(40, '1')}}), 0U);
    EXPECT_EQ(count(world, {{"topics", json::array{kFirst}}}), 1U);
    EXPECT_EQ(count(world, {{"topics", json::array{nullptr, kSecond}}}), 1U);
    EXPECT_EQ(count(world, {{"topics", json::array{json::array{kOther, kFirst}}}}), 1U);
    EXPECT_EQ(count(world, {{"topics", json::array{kOther}}}), 0U);
    EXPECT_EQ(count(world, {{"topics", json::array{nullptr, nullptr, nullptr}}}), 0U);
    const json::value hash = world.result("eth_getBlockByNumber", {"latest"}).at("hash");
    EXPECT_EQ(count(world, {{"blockHash", hash}}), 1U);
}

TEST(RpcLogs, RefuseWhatIsTooMuchOrWrong) {
    RpcWorld world;
    const auto code = [&world](const json::object& filter) {
        return world.error("eth_getLogs", {filter}).at("code");
    };
    EXPECT_EQ(code({{"topics", json::array(5, json::value())}}), -32602);
    EXPECT_EQ(code({{"topics", kFirst}}), -32602);
    EXPECT_EQ(code({{"address", json::array(1001, json::value(toy()))}}), -32602);
    EXPECT_EQ(code({{"blockHash", kFirst}, {"fromBlock", "0x0"}}), -32602);
    EXPECT_EQ(world.error("eth_getLogs", {json::object{{"blockHash", kFirst}}}).at("message"),
              "unknown block");
    EXPECT_EQ(
        world.error("eth_getLogs", {json::object{{"fromBlock", "0x5"}, {"toBlock", "0x2"}}}).at("message"),
        "invalid block range params");
}

TEST(RpcFilters, TellOnlyWhatIsNew) {
    RpcWorld world;
    const json::value logs = world.result("eth_newFilter", {json::object{{"address", toy()}}});
    const json::value blocks = world.result("eth_newBlockFilter");
    const json::value pending = world.result("eth_newPendingTransactionFilter");
    const std::string hash = emit(world, 1);
    world.mine();
    world.mine();
    EXPECT_EQ(world.result("eth_getFilterChanges", {logs}).as_array().size(), 1U);
    EXPECT_EQ(world.result("eth_getFilterChanges", {logs}).as_array().size(), 0U);
    EXPECT_EQ(world.result("eth_getFilterChanges", {blocks}).as_array().size(), 2U);
    EXPECT_EQ(world.result("eth_getFilterChanges", {blocks}).as_array().size(), 0U);
    EXPECT_EQ(world.result("eth_getFilterChanges", {pending}), json::array{hash});
    EXPECT_EQ(world.result("eth_getFilterChanges", {pending}), json::array());
    EXPECT_EQ(world.result("eth_uninstallFilter", {logs}), true);
    EXPECT_EQ(world.result("eth_uninstallFilter", {logs}), false);
    EXPECT_EQ(world.error("eth_getFilterChanges", {logs}).at("message"), "filter not found");
}

TEST(RpcFilters, GiveTheirWholeRange) {
    RpcWorld world;
    emit(world, 1);
    world.mine();
    const json::value logs = world.result("eth_newFilter", {json::object{{"fromBlock", "0x0"}}});
    EXPECT_EQ(world.result("eth_getFilterLogs", {logs}).as_array().size(), 1U);
    EXPECT_EQ(world.error("eth_getFilterLogs", {world.result("eth_newBlockFilter")}).at("message"),
              "filter not found");
}

TEST(RpcFilters, DieWhenNobodyAsks) {
    RpcWorld world;
    const json::value id = world.result("eth_newBlockFilter");
    world.now += std::chrono::minutes(4);
    world.result("eth_getFilterChanges", {id});
    world.now += std::chrono::minutes(4);
    world.result("eth_getFilterChanges", {id});
    world.now += std::chrono::minutes(6);
    EXPECT_EQ(world.error("eth_getFilterChanges", {id}).at("message"), "filter not found");
}

TEST(RpcFilters, AreBounded) {
    rpc::FilterStore store;
    const std::string first = store.add(rpc::BlockFilterState{1});
    for (std::size_t i = 0; i < rpc::FilterStore::kFiltersMax; ++i) store.add(rpc::BlockFilterState{1});
    EXPECT_FALSE(store.remove(first));
}

}  // namespace
}  // namespace retrace::node::test
