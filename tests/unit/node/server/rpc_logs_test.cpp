// SPDX-License-Identifier: MIT
// eth_getLogs and the polled filters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

const std::string kFirst = "0x11" + std::string(62, '0');
const std::string kSecond = "0x22" + std::string(62, '0');
const std::string kOther = "0x33" + std::string(62, '0');

std::string toy_contract() { return ledger::to_0x(ToyExecutor::contract()); }

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
    EXPECT_EQ(text(log.at("address")), toy_contract());
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
    EXPECT_EQ(count(world, {{"address", toy_contract()}}), 1U);
    EXPECT_EQ(count(world, {{"address", json::array{toy_contract(), "0x" + std::string(40, '1')}}}), 1U);
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
    const auto code = [&world](const json::object& filter) { return world.error("eth_getLogs", {filter}).at("code"); };
    EXPECT_EQ(code({{"topics", json::array(5, json::value())}}), -32602);
    EXPECT_EQ(code({{"topics", kFirst}}), -32602);
    EXPECT_EQ(code({{"address", json::array(1001, json::value(toy_contract()))}}), -32602);
    EXPECT_EQ(code({{"blockHash", kFirst}, {"fromBlock", "0x0"}}), -32602);
    const json::value hash = world.result("eth_getBlockByNumber", {"latest"}).at("hash");
    EXPECT_EQ(count(world, {{"blockHash", hash}, {"fromBlock", nullptr}, {"toBlock", nullptr}}), 0U) << "is not given";
    EXPECT_EQ(world.error("eth_getLogs", {json::object{{"blockHash", kFirst}}}).at("message"), "unknown block");
    EXPECT_EQ(world.error("eth_getLogs", {json::object{{"fromBlock", "0x5"}, {"toBlock", "0x2"}}}).at("message"),
              "invalid block range params");
}

TEST(RpcLogs, BehindTheTipThereIsNothingYet) {
    RpcWorld world;
    emit(world, 1);
    world.mine();
    EXPECT_EQ(count(world, {{"fromBlock", "0x1"}}), 1U);
    EXPECT_EQ(count(world, {{"fromBlock", "0x2"}}), 0U);
    EXPECT_EQ(count(world, {{"fromBlock", "0x2"}, {"toBlock", "latest"}}), 0U);
    EXPECT_EQ(count(world, {{"fromBlock", "0x2"}, {"toBlock", "0x5"}}), 0U);
    EXPECT_EQ(count(world, {{"fromBlock", "latest"}, {"toBlock", "0x0"}}), 0U);
    EXPECT_EQ(world.error("eth_getLogs", {json::object{{"fromBlock", "0x3"}, {"toBlock", "0x2"}}}).at("message"),
              "invalid block range params");
}

TEST(RpcFilters, TellOnlyWhatIsNew) {
    RpcWorld world;
    const json::value logs = world.result("eth_newFilter", {json::object{{"address", toy_contract()}}});
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
    EXPECT_EQ(world.error("eth_getFilterLogs", {world.result("eth_newBlockFilter")}).at("message"), "filter not found");
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

TEST(RpcFilters, AskingForTheWholeRangeKeepsNoneAlive) {
    RpcWorld world;
    const json::value logs = world.result("eth_newFilter", {json::object{}});
    world.now += std::chrono::minutes(4);
    world.result("eth_getFilterLogs", {logs});
    world.now += std::chrono::minutes(2);
    EXPECT_EQ(world.error("eth_getFilterChanges", {logs}).at("message"), "filter not found");
}

TEST(RpcFilters, TellInPartsWhatIsTooMuchForOneAnswer) {
    RpcWorld world;
    const json::value id =
        world.result("eth_newFilter", {json::object{{"fromBlock", "0x0"}, {"address", toy_contract()}}});
    for (int i = 0; i < 3; ++i) {
        world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::emit_many}));
        world.mine();
    }
    EXPECT_EQ(world.error("eth_getFilterLogs", {id}).at("message"), "query returned more than 10000 results");
    const json::value first = world.result("eth_getFilterChanges", {id});
    ASSERT_EQ(first.as_array().size(), 2 * ToyExecutor::kMany);
    EXPECT_EQ(first.as_array().back().at("blockNumber"), "0x2");
    const json::value second = world.result("eth_getFilterChanges", {id});
    ASSERT_EQ(second.as_array().size(), ToyExecutor::kMany);
    EXPECT_EQ(second.as_array().front().at("blockNumber"), "0x3");
    EXPECT_EQ(world.result("eth_getFilterChanges", {id}), json::array());
}

class FilterStoreTest : public testing::Test {
protected:
    std::string add(const std::string& client) { return store_.add(rpc::BlockFilterState{1}, client); }
    bool has(const std::string& id) {
        return store_.with(id, [](rpc::FilterState&) {});
    }

    std::chrono::steady_clock::time_point now_{};
    rpc::FilterStore store_{[this] { return now_; }};
};

TEST_F(FilterStoreTest, WhoHasNoRoomLeftGetsNoMoreAndLosesNone) {
    constexpr std::size_t kMost = rpc::FilterStore::kBytesPerClient / rpc::FilterStore::kBytesEach;
    const std::string honest = add("honest"), first = add("greedy");
    for (std::size_t i = 1; i < kMost; ++i) ASSERT_NE(add("greedy"), "");
    EXPECT_EQ(add("greedy"), "");
    EXPECT_TRUE(has(first)) << "though it was unused longest";
    EXPECT_TRUE(has(honest));
    EXPECT_TRUE(store_.remove(first));
    EXPECT_FALSE(store_.remove(first));
    EXPECT_NE(add("greedy"), "") << "its place is free";
    now_ += rpc::FilterStore::kLife + std::chrono::seconds(1);
    EXPECT_FALSE(has(honest)) << "nobody asked for it";
    EXPECT_NE(add("greedy"), "");
}

// Programs on this machine that make a filter on each of many short connections count as one client.
TEST_F(FilterStoreTest, ThisMachineHasRoomOfItsOwn) {
    const std::string honest = add(""), stranger = add("stranger");
    for (int i = 0; i < 60'000; ++i) ASSERT_NE(add(""), "");
    EXPECT_TRUE(has(honest)) << "the longest unused";
    EXPECT_TRUE(has(stranger));
    EXPECT_NE(add("newcomer"), "");
    for (int i = 0; i < 10'000; ++i) add("");
    EXPECT_EQ(add(""), "") << "nor has it more than this";
    EXPECT_TRUE(has(honest));
    EXPECT_NE(add("another"), "");
}

TEST_F(FilterStoreTest, WhenStrangersAreTooManyTheGreediestLosesOne) {
    const std::string honest = add("honest");
    std::vector<std::string> own;
    for (std::size_t i = 0; i < 8'000; ++i) own.push_back(add("greediest"));
    for (int client = 0; client < 8; ++client) {
        for (int i = 0; i < 7'990; ++i) add(std::to_string(client));
    }
    EXPECT_TRUE(has(honest));
    EXPECT_TRUE(has(own[7'000]));
    std::size_t newcomers = 0;
    for (int i = 0; i < 2'000; ++i) newcomers += add("newcomer " + std::to_string(i)).empty() ? 0 : 1;
    EXPECT_EQ(newcomers, 2'000u);
    EXPECT_FALSE(has(own.front())) << "the longest unused of who holds most";
    EXPECT_TRUE(has(honest));
}

TEST_F(FilterStoreTest, WhenNobodyHoldsMoreANewcomerFindsNoRoom) {
    constexpr std::size_t kMost = rpc::FilterStore::kBytesMax / rpc::FilterStore::kBytesEach;
    const std::string honest = add("holder 0");
    for (std::size_t i = 1; i < kMost; ++i) ASSERT_NE(add("holder " + std::to_string(i)), "");
    EXPECT_EQ(add("one more"), "") << "each has one";
    now_ += rpc::FilterStore::kLife;
    EXPECT_TRUE(has(honest));
    EXPECT_EQ(add("one more"), "") << "whose time is not over";
    now_ += std::chrono::seconds(1);
    EXPECT_NE(add("one more"), "");
    EXPECT_TRUE(has(honest)) << "somebody asks for it";
    EXPECT_NE(add(""), "") << "this machine has room of its own";
}

TEST_F(FilterStoreTest, WhatFiltersLookForIsCounted) {
    rpc::LogFilterState state;
    state.query.filter.topics.assign(4, std::vector<Hash32>(1000));
    const std::size_t each = rpc::FilterStore::kBytesEach + rpc::bytes_of(state.query.filter);
    EXPECT_GE(each, 4 * 32'000U);
    const std::string honest = store_.add(state, "honest");
    std::size_t own = 0;
    for (std::size_t i = 0; i < 100; ++i) own += store_.add(state, "greedy").empty() ? 0 : 1;
    EXPECT_LE(own * each, rpc::FilterStore::kBytesPerClient);
    EXPECT_GT((own + 1) * each, rpc::FilterStore::kBytesPerClient);
    std::vector<std::string> all;
    for (int client = 0; client < 20; ++client) {
        for (int i = 0; i < 40; ++i) all.push_back(store_.add(state, "client " + std::to_string(client)));
    }
    for (int i = 0; i < 400; ++i) all.push_back(store_.add(state, "one " + std::to_string(i)));
    const auto left = static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const std::string& id) { return !id.empty() && has(id); }));
    EXPECT_LE(left * each, rpc::FilterStore::kBytesMax);
    EXPECT_TRUE(has(honest));
}

TEST_F(FilterStoreTest, PendingTransactionsAreKeptOnceForAll) {
    constexpr std::size_t kMax = rpc::FilterStore::kPendingMax;
    const auto hash = [](std::size_t i) {
        Hash32 out;
        store_u64(out.bytes.data(), i);
        return out;
    };
    const auto take = [this](const std::string& id) {
        std::vector<Hash32> out;
        EXPECT_TRUE(store_.with(
            id, [&](rpc::FilterState& state) { out = store_.take_pending(std::get<rpc::PendingFilterState>(state)); }));
        return out;
    };
    store_.on_pending(hash(0));
    const std::string quick = store_.add_pending("a"), slow = store_.add_pending("b");
    EXPECT_TRUE(take(quick).empty()) << "what was there before";
    for (std::size_t i = 1; i <= kMax + 5; ++i) store_.on_pending(hash(i));
    EXPECT_EQ(take(quick).size(), kMax);
    store_.on_pending(hash(kMax + 6));
    EXPECT_EQ(take(quick), std::vector{hash(kMax + 6)});
    const auto rest = take(slow);
    ASSERT_EQ(rest.size(), kMax);
    EXPECT_EQ(rest.front(), hash(7));
    EXPECT_EQ(rest.back(), hash(kMax + 6));
    EXPECT_TRUE(take(slow).empty());
}

TEST_F(FilterStoreTest, ALongSearchKeepsNobodyElseWaiting) {
    const std::string slow = add("a"), other = add("b");
    std::promise<void> begun, end;
    std::thread searching([&] {
        store_.with(slow, [&](rpc::FilterState&) {
            begun.set_value();
            end.get_future().wait();
        });
    });
    begun.get_future().wait();
    auto others = std::async(std::launch::async, [&] {
        store_.on_pending(Hash32{});
        return has(other) && !add("c").empty() && store_.remove(slow);
    });
    const bool went_on = others.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
    EXPECT_TRUE(went_on);
    end.set_value();
    searching.join();
    EXPECT_TRUE(others.get());
}

}  // namespace
}  // namespace retrace::node::test
