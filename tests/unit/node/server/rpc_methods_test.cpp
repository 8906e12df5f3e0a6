// SPDX-License-Identifier: MIT
// Every method: its answer, member by member where clients depend on it, and its errors for bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merkle/hash/sha256.hpp"
#include "node/server/config/dev_chain.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const ledger::Address kBob = *ledger::parse_address("0x00000000000000000000000000000000000000bb");
const std::string kUnknownHash = "0x" + std::string(64, '7');

std::string address(std::uint32_t index) { return ledger::to_0x(dev_key(index).address()); }
std::string toy() { return ledger::to_0x(ToyExecutor::contract()); }
json::object toy_call(const std::string& data) { return {{"to", toy()}, {"data", data}}; }

TEST(RpcNode, NamesItself) {
    RpcWorld world;
    EXPECT_EQ(world.result("eth_chainId"), "0x1c82");
    EXPECT_EQ(world.result("net_version"), "7298");
    EXPECT_EQ(world.result("net_listening"), true);
    EXPECT_EQ(world.result("web3_clientVersion"), "retrace/v0.1.0");
    EXPECT_EQ(world.result("eth_syncing"), false);
    EXPECT_EQ(world.result("eth_accounts"), json::array());
    EXPECT_EQ(world.result("web3_sha3", {"0x"}), "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
}

TEST(RpcNode, RefusesWhatItDoesNotServeWithTheSentenceThatClientsMatch) {
    RpcWorld world;
    for (const char* method : {"eth_fillTransaction", "eth_sendTransaction", "eth_sign", "personal_sign",
                               "debug_traceTransaction", "admin_peers", "eth_subscribe"}) {
        const json::object error = world.error(method, {"newHeads"});
        EXPECT_EQ(error.at("code"), -32601);
        EXPECT_EQ(text(error.at("message")), std::string("the method ") + method + " does not exist/is not available");
    }
}

TEST(RpcNode, LongNamesAreNotEchoedWhole) {
    RpcWorld world;
    const json::object error = world.error(std::string(100'000, 'x'));
    EXPECT_LT(text(error.at("message")).size(), 300U);
}

TEST(RpcBlocks, HaveEveryMemberThatSomeClientNeeds) {
    RpcWorld world;
    world.send(world.make_tx(0, kBob, 5));
    world.mine();
    EXPECT_EQ(world.result("eth_blockNumber"), "0x1");
    const json::object block = world.result("eth_getBlockByNumber", {"latest", false}).as_object();
    for (const char* member :
         {"number",       "hash",      "parentHash",   "timestamp",     "gasLimit",  "gasUsed",
          "difficulty",   "extraData", "miner",        "sha3Uncles",    "stateRoot", "transactionsRoot",
          "receiptsRoot", "logsBloom", "transactions", "baseFeePerGas", "mixHash",   "nonce",
          "size",         "uncles"}) {
        ASSERT_TRUE(block.contains(member)) << member;
        EXPECT_FALSE(block.at(member).is_null()) << member;
    }
    EXPECT_EQ(block.at("number"), "0x1");
    EXPECT_EQ(block.at("difficulty"), "0x0");
    EXPECT_EQ(block.at("extraData"), "0x");
    EXPECT_EQ(block.at("nonce"), "0x0000000000000000");
    EXPECT_EQ(block.at("gasUsed"), "0x5208");
    EXPECT_EQ(text(block.at("logsBloom")).size(), 514U);
    const json::value genesis = world.result("eth_getBlockByNumber", {"earliest", false});
    EXPECT_EQ(block.at("parentHash"), genesis.at("hash"));
    EXPECT_EQ(world.result("eth_getBlockByHash", {block.at("hash"), false}), block);
    for (const char* tag : {"0x1", "safe", "finalized", "pending"}) {
        EXPECT_EQ(world.result("eth_getBlockByNumber", {tag, false}), block) << tag;
    }
}

TEST(RpcBlocks, UnknownOnesAreNull) {
    RpcWorld world;
    EXPECT_TRUE(world.result("eth_getBlockByNumber", {"0x99", false}).is_null());
    EXPECT_TRUE(world.result("eth_getBlockByHash", {kUnknownHash, false}).is_null());
    EXPECT_TRUE(world.result("eth_getBlockReceipts", {"0x99"}).is_null());
    EXPECT_TRUE(world.result("eth_getTransactionByHash", {kUnknownHash}).is_null());
    EXPECT_TRUE(world.result("eth_getTransactionReceipt", {kUnknownHash}).is_null());
    EXPECT_TRUE(world.result("eth_getTransactionByBlockNumberAndIndex", {"latest", "0x0"}).is_null());
}

TEST(RpcBlocks, CountAndPlaceTransactions) {
    RpcWorld world;
    const std::string hash = world.send(world.make_tx(0, kBob, 5));
    world.mine();
    const json::value block_hash = world.result("eth_getBlockByNumber", {"latest"}).at("hash");
    EXPECT_EQ(world.result("eth_getBlockTransactionCountByNumber", {"latest"}), "0x1");
    EXPECT_EQ(world.result("eth_getBlockTransactionCountByHash", {block_hash}), "0x1");
    EXPECT_EQ(world.result("eth_getUncleCountByBlockNumber", {"latest"}), "0x0");
    EXPECT_EQ(world.result("eth_getUncleCountByBlockHash", {block_hash}), "0x0");
    EXPECT_EQ(text(world.result("eth_getTransactionByBlockNumberAndIndex", {"latest", "0x0"}).at("hash")), hash);
    EXPECT_EQ(text(world.result("eth_getTransactionByBlockHashAndIndex", {block_hash, "0x0"}).at("hash")), hash);
    EXPECT_EQ(world.result("eth_getBlockByNumber", {"latest", true}).at("transactions").at(0),
              world.result("eth_getTransactionByHash", {hash}));
    EXPECT_EQ(world.result("eth_getBlockReceipts", {"latest"}).at(0),
              world.result("eth_getTransactionReceipt", {hash}));
}

TEST(RpcBlocks, RefuseValuesThatAreNoBlocks) {
    RpcWorld world;
    for (const json::value& bad : {json::value("0x"), json::value("0x01"), json::value("1"), json::value(1),
                                   json::value("newest"), json::value(json::object()), json::value("0xzz")}) {
        EXPECT_EQ(world.error("eth_getBlockByNumber", {bad, false}).at("code"), -32602) << json::serialize(bad);
    }
    EXPECT_EQ(world.error("eth_getBlockByNumber").at("message"), "missing value for required argument 0");
    EXPECT_EQ(world.error("eth_getBlockByNumber", {"latest", false, 1}).at("message"),
              "too many arguments, want at most 2");
}

TEST(RpcState, TellsBalanceNonceAndCode) {
    RpcWorld world;
    world.send(world.make_tx(0, kBob, 5));
    EXPECT_EQ(world.result("eth_getTransactionCount", {address(0), "latest"}), "0x0");
    EXPECT_EQ(world.result("eth_getTransactionCount", {address(0), "pending"}), "0x1");
    world.mine();
    EXPECT_EQ(world.result("eth_getTransactionCount", {address(0), "latest"}), "0x1");
    EXPECT_EQ(world.result("eth_getBalance", {ledger::to_0x(kBob), "latest"}), "0x5");
    EXPECT_EQ(world.result("eth_getBalance", {ledger::to_0x(kBob), "0x0"}), "0x0");
    EXPECT_EQ(world.result("eth_getBalance", {ledger::to_0x(kBob), json::object{{"blockNumber", "0x0"}}}), "0x0");
    EXPECT_EQ(world.result("eth_getBalance", {ledger::to_0x(kBob)}), "0x5");
    EXPECT_EQ(world.result("eth_getCode", {toy(), "latest"}), "0x60006000fd");
    EXPECT_EQ(world.result("eth_getCode", {address(0), "latest"}), "0x");
    EXPECT_EQ(text(world.result("eth_getStorageAt", {toy(), "0x0", "latest"})), "0x" + std::string(64, '0'));
}

TEST(RpcState, UnknownHeightsAreNamed) {
    RpcWorld world;
    const json::object error = world.error("eth_getBalance", {address(0), "0x99"});
    EXPECT_EQ(error.at("code"), -32000);
    EXPECT_EQ(error.at("message"), "header not found");
    EXPECT_EQ(world.error("eth_getBalance", {"0x1234", "latest"}).at("code"), -32602);
    EXPECT_EQ(world.error("eth_call", {toy_call("0x01"), "0x99"}).at("message"), "header not found");
}

TEST(RpcCall, ReturnsOutput) {
    RpcWorld world;
    EXPECT_EQ(world.result("eth_call", {toy_call("0x01abcd"), "latest"}), "0x01abcd");
    EXPECT_EQ(world.result("eth_call", {json::object{{"to", toy()}, {"input", "0x01ab"}, {"type", "0x2"}}}), "0x01ab");
    EXPECT_EQ(world.result("eth_call", {json::object{{"to", address(1)}}, "latest"}), "0x");
    EXPECT_EQ(world.error("eth_call", {json::object{{"to", toy()}, {"input", "0x01"}, {"data", "0x02"}}}).at("code"),
              -32602);
}

TEST(RpcCall, RevertsAsClientsDecodeThem) {
    RpcWorld world;
    for (const char* method : {"eth_call", "eth_estimateGas"}) {
        json::object error = world.error(method, {toy_call("0x02"), "latest"});
        EXPECT_EQ(error.at("code"), 3);
        EXPECT_EQ(error.at("message"), "execution reverted: boo");
        EXPECT_THAT(text(error.at("data")), testing::StartsWith("0x08c379a0"));
        error = world.error(method, {toy_call("0x03"), "latest"});
        EXPECT_EQ(error.at("code"), 3);
        EXPECT_EQ(error.at("message"), "execution reverted");
        EXPECT_EQ(error.at("data"), "0xdeadbeef00");
        error = world.error(method, {toy_call("0x06"), "latest"});
        EXPECT_EQ(error.at("data"), "0x");
    }
}

TEST(RpcCall, EstimatesAndRefuses) {
    RpcWorld world;
    EXPECT_EQ(
        world.result("eth_estimateGas", {json::object{{"from", address(0)}, {"to", address(1)}, {"value", "0x1"}}}),
        "0x5208");
    const json::object poor{{"from", ledger::to_0x(kBob)}, {"to", address(1)}, {"value", "0x1"}};
    EXPECT_THAT(text(world.error("eth_estimateGas", {poor}).at("message")),
                testing::StartsWith("insufficient funds for transfer: have "));
    const json::object entry{{"address", toy()}, {"storageKeys", json::array{kUnknownHash}}};
    const json::object listed{{"from", address(0)}, {"to", address(1)}, {"accessList", json::array{entry}}};
    EXPECT_EQ(world.result("eth_estimateGas", {listed}), "0x62d4");  // 21000 + 2400 + 1900
    const json::object broken{{"to", address(1)}, {"accessList", json::array{json::object()}}};
    EXPECT_EQ(text(world.error("eth_estimateGas", {broken}).at("message")),
              "invalid argument 0: accessList: an entry is {address, storageKeys}");
    const json::object rich{{ledger::to_0x(kBob), json::object{{"balance", "0x100"}}}};
    EXPECT_EQ(world.result("eth_estimateGas", {poor, "latest", rich}), "0x5208");
    const json::object code{{ledger::to_0x(kBob), json::object{{"code", "0x00"}}}};
    EXPECT_EQ(world.error("eth_estimateGas", {poor, "latest", code}).at("code"), -32602);
    for (const char* method : {"eth_call", "eth_estimateGas"}) {
        const json::object creation = world.error(method, {json::object{{"data", "0x00"}}});
        EXPECT_EQ(creation.at("code"), 3);
        EXPECT_EQ(creation.at("message"), "execution reverted: contract creation is not supported: no EVM");
    }
}

TEST(RpcTxs, ArePendingThenMined) {
    RpcWorld world;
    const auto tx = world.make_tx(0, kBob, 5);
    const std::string hash = world.send(tx);
    EXPECT_EQ(hash, to_0x(view(tx->hash)));
    json::object seen = world.result("eth_getTransactionByHash", {hash}).as_object();
    for (const char* member : {"blockHash", "blockNumber", "transactionIndex"}) {
        ASSERT_TRUE(seen.contains(member));
        EXPECT_TRUE(seen.at(member).is_null());
    }
    EXPECT_TRUE(world.result("eth_getTransactionReceipt", {hash}).is_null());
    world.mine();
    seen = world.result("eth_getTransactionByHash", {hash}).as_object();
    for (const char* member : {"hash",
                               "nonce",
                               "gas",
                               "value",
                               "input",
                               "from",
                               "to",
                               "r",
                               "s",
                               "v",
                               "yParity",
                               "type",
                               "blockNumber",
                               "blockHash",
                               "transactionIndex",
                               "chainId",
                               "accessList",
                               "gasPrice",
                               "maxFeePerGas",
                               "maxPriorityFeePerGas"}) {
        EXPECT_TRUE(seen.contains(member)) << member;
    }
    EXPECT_EQ(seen.at("type"), "0x2");
    EXPECT_EQ(text(seen.at("from")), address(0));
    const json::object receipt = world.result("eth_getTransactionReceipt", {hash}).as_object();
    EXPECT_EQ(receipt.at("status"), "0x1");
    EXPECT_EQ(receipt.at("gasUsed"), "0x5208");
    EXPECT_EQ(receipt.at("cumulativeGasUsed"), "0x5208");
    EXPECT_EQ(receipt.at("type"), "0x2");
    EXPECT_TRUE(receipt.at("contractAddress").is_null());
    EXPECT_EQ(receipt.at("effectiveGasPrice"), seen.at("gasPrice"));
}

TEST(RpcTxs, AMinedRevertHasStatusZeroAndItsReason) {
    RpcWorld world;
    const std::string hash = world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::fail_custom}));
    world.mine();
    const json::object receipt = world.result("eth_getTransactionReceipt", {hash}).as_object();
    EXPECT_EQ(receipt.at("status"), "0x0");
    EXPECT_EQ(receipt.at("logs"), json::array());
    EXPECT_EQ(receipt.at("revertReason"), "0xdeadbeef00");
    EXPECT_EQ(receipt.at("error"), "custom: a reason");
    EXPECT_EQ(world.result("eth_getTransactionCount", {address(0), "latest"}), "0x1");
}

TEST(RpcTxs, AreRefusedInEthereumsWords) {
    RpcWorld world;
    const auto refusal = [&world](const ledger::TxPtr& tx) {
        const json::object error = world.error("eth_sendRawTransaction", {to_0x(View(tx->raw))});
        EXPECT_EQ(error.at("code"), -32000);
        return text(error.at("message"));
    };
    world.send(world.make_tx(0, kBob, 5));
    world.mine();
    EXPECT_EQ(refusal(world.make_tx(0, kBob, 6, {}, 0)), "nonce too low: next nonce 1, tx nonce 0");
    const auto known = world.make_tx(0, kBob, 5);
    world.send(known);
    EXPECT_EQ(refusal(known), "already known");
    EXPECT_EQ(refusal(world.make_tx(0, kBob, 7, {}, 1)), "replacement transaction underpriced");
    EXPECT_THAT(refusal(world.make_tx(0, kBob, 5, {}, 500)), testing::StartsWith("nonce too high"));
    EXPECT_THAT(refusal(world.make_tx(0, kBob, 5, {}, 2, 20'000)),
                testing::StartsWith("intrinsic gas too low: gas 20000, minimum needed 21000"));
    EXPECT_THAT(refusal(world.make_tx(1, kBob, ledger::U256::max() / ledger::U256{2})),
                testing::StartsWith("insufficient funds for gas * price + value: balance "));
    EXPECT_EQ(world.error("eth_sendRawTransaction", {"0x04"}).at("message"), "transaction type not supported");
    EXPECT_EQ(world.error("eth_sendRawTransaction", {"0xabc"}).at("code"), -32602);
    EXPECT_EQ(world.error("eth_sendRawTransaction", {"0x"}).at("code"), -32000);
}

TEST(RpcTxs, NoncesOutOfOrderWaitAndAllRun) {
    RpcWorld world;
    const auto second = world.make_tx(0, kBob, 2, {}, 1);
    world.send(second);
    EXPECT_EQ(world.result("eth_getTransactionCount", {address(0), "pending"}), "0x0");
    world.send(world.make_tx(0, kBob, 1, {}, 0));
    EXPECT_EQ(world.result("eth_getTransactionCount", {address(0), "pending"}), "0x2");
    world.mine();
    EXPECT_EQ(world.result("eth_getBalance", {ledger::to_0x(kBob)}), "0x3");
}

TEST(RpcFees, AreWhatWalletsNeed) {
    RpcWorld world;
    world.send(world.make_tx(0, kBob, 5));
    world.mine();
    world.mine();
    EXPECT_EQ(world.result("eth_maxPriorityFeePerGas"), "0x5f5e100");
    const json::object history = world.result("eth_feeHistory", {"0xa", "latest", json::array{20, 50.5}}).as_object();
    EXPECT_EQ(history.at("oldestBlock"), "0x0");
    EXPECT_EQ(history.at("baseFeePerGas").as_array().size(), 4U);
    EXPECT_EQ(history.at("gasUsedRatio").as_array().size(), 3U);
    EXPECT_TRUE(history.at("gasUsedRatio").at(1).is_double());
    EXPECT_EQ(history.at("reward").at(1), json::array({"0x3b9aca00", "0x3b9aca00"}));
    EXPECT_FALSE(world.result("eth_feeHistory", {"0x1", "latest", json::array()}).as_object().contains("reward"));
    EXPECT_EQ(world.error("eth_feeHistory", {"0x1", "latest", json::array{50, 20}}).at("message"),
              "invalid reward percentile");
    const auto price = rpc::parse_u256(world.result("eth_gasPrice"));
    ASSERT_TRUE(price.has_value());
    EXPECT_EQ(*price, world.chain->next_base_fee() + ledger::U256{100'000'000});
}

TEST(RpcRetrace, ReadsSlotsOfOneHeight) {
    RpcWorld world;
    world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::store, 7, 0xaa, 0xbb}));
    world.mine();
    const json::array slots{json::object{{"contract", toy()}, {"key", "0x07"}},
                            json::object{{"contract", toy()}, {"key", "0x08"}}};
    EXPECT_EQ(world.result("retrace_getSlots", {slots, "latest"}),
              (json::object{{"height", 1}, {"values", json::array{"0xaabb", "0x"}}}));
    EXPECT_EQ(world.result("retrace_getSlots", {slots, "0x0"}).at("values"), (json::array{"0x", "0x"}));
    EXPECT_EQ(world.error("retrace_getSlots", {json::array(1001, json::value(1))}).at("code"), -32602);
    EXPECT_EQ(world.error("retrace_getSlots", {json::array{1}}).at("message"),
              "invalid argument 0: a slot is {contract, key}");
    EXPECT_EQ(world.result("retrace_getAccount", {address(0)}).at("nonce"), "0x1");
}

TEST(RpcRetrace, NamesTheSlotsThatChangedBetweenTwoBlocks) {
    RpcWorld world;
    const auto store = [&](std::uint64_t nonce, std::uint8_t key) {
        world.send(world.make_tx(0, ToyExecutor::contract(), nonce, {ToyExecutor::store, key, 0xaa}));
        world.mine();
    };
    const auto tag = [](std::uint8_t key) {
        Bytes slot = to_bytes(view(ToyExecutor::contract()));
        slot.push_back(key);
        return to_hex(view(merkle::sha256({View(slot)}))).substr(0, 8);
    };
    const auto changed = [&](const char* from, const char* to) {
        return text(world.result("retrace_getChangedSlots", {from, to}).at("changed"));
    };
    store(0, 7);
    store(1, 8);
    const std::string first = changed("0x0", "0x1"), second = changed("0x1", "0x2");
    EXPECT_THAT(first, AllOf(StartsWith("0x" + tag(7)), Not(HasSubstr(tag(8)))));  // Each block changes others as well.
    EXPECT_THAT(second, AllOf(StartsWith("0x" + tag(8)), Not(HasSubstr(tag(7)))));
    EXPECT_EQ(changed("0x0", "latest"), first + second.substr(2));
    EXPECT_EQ(changed("0x2", "0x2"), "0x");
    const json::value both = world.result("retrace_getChangedSlots", {"0x1", "0x2"});
    EXPECT_EQ(both.at("from_hash"), world.result("retrace_getHeader", {"0x1"}).at("hash"));
    EXPECT_EQ(both.at("hash"), world.result("retrace_getHeader", {"0x2"}).at("hash"));
    EXPECT_EQ(world.error("retrace_getChangedSlots", {"0x2", "0x1"}).at("code"), -32602);
    for (int i = 0; i < 300; ++i) world.mine();
    EXPECT_EQ(world.error("retrace_getChangedSlots", {"0x2", "latest"}).at("code"), -32602);
}

TEST(RpcRetrace, ProvesPresenceAndAbsence) {
    RpcWorld world;
    world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::store, 7, 0xaa, 0xbb}));
    world.mine();
    const std::string root = text(world.result("eth_getBlockByNumber", {"latest"}).at("stateRoot"));
    const auto check = [&](const json::value& leaf, bool present) {
        const json::object proof = world.result("retrace_getProof", {leaf, "latest"}).as_object();
        EXPECT_EQ(text(proof.at("state_root")), root);
        const auto bytes = from_hex(text(proof.at("encoded")));
        Reader in(*bytes);
        const ledger::StateProof decoded = ledger::decode_state_proof(in);
        ASSERT_TRUE(in.finish().has_value());
        EXPECT_TRUE(ledger::verify(decoded).has_value());
        EXPECT_EQ(decoded.value.empty(), !present);
    };
    check(json::value(address(0)), true);
    check("0x00000000000000000000000000000000000000ff", false);
    check(json::object{{"contract", toy()}, {"key", "0x07"}}, true);
    check(json::object{{"contract", toy()}, {"key", "0x08"}}, false);
}

TEST(RpcRetrace, EncodesAHeaderWhoseHashIsTheBlocks) {
    RpcWorld world;
    world.mine();
    world.mine();
    for (const char* block : {"0x0", "0x1", "latest"}) {
        const json::object answer = world.result("retrace_getHeader", {block}).as_object();
        const auto bytes = from_hex(text(answer.at("encoded")));
        Reader in(*bytes);
        const ledger::Header header = ledger::decode_header(in);
        ASSERT_TRUE(in.finish().has_value());
        EXPECT_EQ("0x" + to_hex(view(block_hash(header))), text(answer.at("hash")));
        EXPECT_EQ(answer.at("hash"), world.result("eth_getBlockByNumber", {block, false}).at("hash"));
    }
    world.error("retrace_getHeader", {"0x9"});
}

TEST(RpcRetrace, DescribesItself) {
    RpcWorld world;
    const json::object status = world.result("retrace_status").as_object();
    EXPECT_EQ(status.at("height"), 0);
    EXPECT_EQ(status.at("chain_id"), kDevChainId);
    EXPECT_EQ(status.at("engine"), "solo");
    EXPECT_EQ(status.at("syncing"), false);
    EXPECT_EQ(world.result("retrace_contracts").at(0).at("name"), "IToy");
    const json::object document = world.result("rpc.discover").as_object();
    EXPECT_EQ(document.at("openrpc"), "1.2.6");
    EXPECT_EQ(document.at("methods").as_array().size(), world.router.methods().size());
}

}  // namespace
}  // namespace retrace::node::test
