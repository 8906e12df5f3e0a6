// SPDX-License-Identifier: MIT
// Compares rpc.discover with the node's real answers: every method of the table is called, and its parameters and
// result match its schemas exactly, without an extra or missing member.
#include <gmock/gmock.h>

#include "tests/unit/node/json_schema.hpp"
#include "tests/unit/node/rpc_market_world.hpp"

namespace retrace::node::test {
namespace {

/// Methods that Ethereum clients call, as listed in the design.
const std::vector<const char*> kEthereum{"eth_chainId",
                                         "net_version",
                                         "web3_clientVersion",
                                         "eth_blockNumber",
                                         "eth_getBlockByNumber",
                                         "eth_getBlockByHash",
                                         "eth_getBalance",
                                         "eth_getTransactionCount",
                                         "eth_getCode",
                                         "eth_gasPrice",
                                         "eth_maxPriorityFeePerGas",
                                         "eth_feeHistory",
                                         "eth_estimateGas",
                                         "eth_call",
                                         "eth_sendRawTransaction",
                                         "eth_getTransactionByHash",
                                         "eth_getTransactionReceipt",
                                         "eth_getLogs",
                                         "eth_newFilter",
                                         "eth_newBlockFilter",
                                         "eth_getFilterChanges",
                                         "eth_getFilterLogs",
                                         "eth_uninstallFilter",
                                         "eth_subscribe",
                                         "eth_unsubscribe",
                                         "net_listening",
                                         "eth_syncing",
                                         "eth_accounts",
                                         "eth_getStorageAt",
                                         "eth_getBlockReceipts",
                                         "eth_getBlockTransactionCountByNumber",
                                         "eth_getBlockTransactionCountByHash",
                                         "eth_getTransactionByBlockNumberAndIndex",
                                         "eth_getTransactionByBlockHashAndIndex",
                                         "eth_getUncleCountByBlockNumber",
                                         "eth_getUncleCountByBlockHash",
                                         "eth_newPendingTransactionFilter",
                                         "web3_sha3",
                                         "rpc.discover"};

struct OneSubscription final : rpc::Subscriptions {
    std::string add(rpc::Subscription) override { return "0x1"; }
    bool remove(const std::string&) override { return true; }
};

class RpcSchema : public MarketWorld {
protected:
    RpcSchema() : document_(world.result("rpc.discover")) {}

    const json::object& method(const std::string& name) const {
        for (const json::value& entry : document_.at("methods").as_array())
            if (text(entry.at("name")) == name) return entry.as_object();
        throw std::runtime_error("no method " + name);
    }
    /// Calls as over a WebSocket, and checks both directions.
    json::value call(const std::string& name, json::array params) {
        called_.insert(name);
        const SchemaChecker checker(document_.at("components").at("schemas").as_object());
        const json::array& described = method(name).at("params").as_array();
        EXPECT_LE(params.size(), described.size()) << name;
        for (std::size_t i = 0; i < std::min(params.size(), described.size()); ++i)
            EXPECT_EQ(checker.check(described[i].at("schema").as_object(), params[i]), "")
                << name << " parameter " << i;
        rpc::Caller caller{&subscriptions_};
        const auto answer = world.router.call(name, params, caller);
        EXPECT_TRUE(answer.has_value()) << name << ": " << (answer ? "" : answer.error().message);
        if (!answer) return {};
        EXPECT_EQ(checker.check(method(name).at("result").at("schema").as_object(), *answer), "") << name;
        return *answer;
    }
    bool all_were_called() const {
        bool all = true;
        for (const auto& [name, entry] : world.router.methods()) {
            EXPECT_TRUE(called_.contains(name)) << "no call of " << name << " was checked";
            all = all && called_.contains(name);
        }
        return all;
    }

    void call_ethereum();
    void call_market();

    json::value document_;
    OneSubscription subscriptions_;
    std::set<std::string> called_;
};

void RpcSchema::call_ethereum() {
    for (const char* name : {"eth_chainId", "net_version", "net_listening", "web3_clientVersion", "eth_accounts",
                             "eth_syncing", "eth_blockNumber", "eth_gasPrice", "eth_maxPriorityFeePerGas",
                             "retrace_status", "retrace_contracts", "rpc.discover"})
        call(name, {});
    call("web3_sha3", {"0x00"});
    const auto head = json::value_to<std::string>(call("eth_getBlockByNumber", {"latest", false}).at("hash"));
    for (const char* which : {"earliest", "0x1", "0x4", "latest"}) {
        call("eth_getBlockByNumber", {which, true});
        call("eth_getBlockReceipts", {which});
        call("eth_getTransactionByBlockNumberAndIndex", {which, "0x0"});
    }
    call("eth_getBlockByHash", {head, true});
    call("eth_getBlockByHash", {"0x" + std::string(64, '7'), true});
    call("eth_getTransactionByBlockHashAndIndex", {head, "0x9"});
    for (const char* name : {"eth_getBlockTransactionCountByNumber", "eth_getUncleCountByBlockNumber"})
        call(name, {"latest"});
    for (const char* name : {"eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockHash"}) call(name, {head});
    for (const char* name : {"eth_getBalance", "eth_getTransactionCount", "eth_getCode"})
        call(name, {address(0), "latest"});
    call("eth_getStorageAt", {address(0), "0x0", "latest"});
    const json::object transfer{{"from", address(0)}, {"to", address(1)}, {"value", "0x1"}};
    call("eth_call", {transfer, "latest", json::object{}});
    call("eth_estimateGas", {transfer});
    call("eth_feeHistory", {"0x4", "latest", json::array{25, 50.5}});
    const auto pending = world.make_tx(8, dev_key(9).address(), ledger::U256(1));
    call("eth_sendRawTransaction", {to_0x(View(pending->raw))});
    call("eth_getTransactionByHash", {to_0x(view(pending->hash))});
    call("eth_getTransactionReceipt", {to_0x(view(pending->hash))});
    world.mine();
    call("eth_getTransactionByHash", {to_0x(view(pending->hash))});
    call("eth_getTransactionReceipt", {to_0x(view(pending->hash))});
    call("retrace_explainTransaction", {to_0x(view(pending->hash))});
    const json::object everything{{"fromBlock", "earliest"}, {"topics", json::array{nullptr}}};
    call("eth_getLogs", {everything});
    for (const auto& [name, params] : std::map<std::string, json::array>{
             {"eth_newFilter", {everything}}, {"eth_newBlockFilter", {}}, {"eth_newPendingTransactionFilter", {}}}) {
        const json::value id = call(name, params);
        world.send(world.make_tx(8, dev_key(9).address(), ledger::U256(1)));
        world.mine();
        call("eth_getFilterChanges", {id});
        if (name == "eth_newFilter") call("eth_getFilterLogs", {id});
        call("eth_uninstallFilter", {id});
    }
    call("eth_subscribe", {"logs", everything});
    call("eth_subscribe", {"taskProgress", json::object{{"task", "0x1"}}});
    call("eth_unsubscribe", {"0x1"});
}

void RpcSchema::call_market() {
    const json::object query{{"limit", 10}};
    for (const char* name : {"retrace_tasks", "retrace_audits", "retrace_disputes", "retrace_reports",
                             "retrace_retentions", "retrace_reservations"})
        call(name, {query, "latest"});
    for (const char* name : {"retrace_task", "retrace_audit", "retrace_dispute", "retrace_report", "retrace_bids",
                             "retrace_retention", "retrace_taskEvents"}) {
        call(name, {"0x1"});
        call(name, {"0x63"});
    }
    call("retrace_group", {"0x1"});
    call("retrace_round", {"0x1", "0x0"});
    call("retrace_segments", {"0x1", "0x0", "0x0", "0x4"});
    call("retrace_explainBids", {"0x1", address(3)});
    for (const char* task : {"0x1", "0x63"}) call("retrace_explainTask", {task});
    for (const char* reservation : {"0x1", "0x63"}) call("retrace_explainReservation", {reservation});
    call("retrace_party", {address(1)});
    for (const char* name : {"retrace_params", "retrace_verifiers", "retrace_solvers", "retrace_beacon"})
        call(name, {"latest"});
    const json::object slot{{"contract", ledger::to_0x(contracts::address_of(contracts::Contract::market))},
                            {"key", "0x01"}};
    call("retrace_getSlots", {json::array{slot}});
    call("retrace_getChangedSlots", {"0x0"});
    call("retrace_getAccount", {address(0)});
    call("retrace_getHeader", {"latest"});
    call("retrace_getProof", {address(0)});
    call("retrace_getProof", {slot});
}

TEST_F(RpcSchema, EveryMethodAnswersAsItsSchemaSays) {
    play_auction();
    call_ethereum();
    call_market();
    EXPECT_TRUE(all_were_called());
}

TEST_F(RpcSchema, TheDocumentHasEveryMethodOfTheDesignAndEverySchemaThatItNames) {
    const json::object& schemas = document_.at("components").at("schemas").as_object();
    for (const char* name : kEthereum) EXPECT_NE(world.router.find(name), nullptr) << name;
    for (const auto& [name, entry] : world.router.methods()) {
        EXPECT_FALSE(entry.summary.empty()) << name;
        EXPECT_NO_THROW(method(name));
    }
    const std::string all = json::serialize(document_);
    const std::regex reference(R"re("\$ref":"#/components/schemas/([A-Za-z]+)")re");
    for (auto it = std::sregex_iterator(all.begin(), all.end(), reference); it != std::sregex_iterator(); ++it)
        EXPECT_TRUE(schemas.contains((*it)[1].str())) << (*it)[1];
}

TEST_F(RpcSchema, TheCheckerFindsWhatIsWrong) {
    const json::object& schemas = document_.at("components").at("schemas").as_object();
    const SchemaChecker checker(schemas);
    const json::object beacon{{"$ref", "#/components/schemas/Beacon"}};
    json::object good = world.result("retrace_beacon").as_object();
    EXPECT_EQ(checker.check(beacon, good), "");
    json::object more = good, less = good, other = good;
    more["extra"] = 1;
    less.erase("epoch");
    other["epoch"] = "0x01";
    for (const json::object& bad : {more, less, other}) EXPECT_NE(checker.check(beacon, bad), "");
}

}  // namespace
}  // namespace retrace::node::test
