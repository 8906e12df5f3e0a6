// SPDX-License-Identifier: MIT
// A node may send arbitrary data to wallets and agents: it can make them neither sign without bounds nor crash.
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "ledger/crypto/keccak.hpp"
#include "market/record.hpp"
#include "merkle/base/ensure.hpp"
#include "node/agents/agent_process.hpp"
#include "node/agents/remote_state.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

/// Answers each method with a JSON text.
struct Dishonest : ::testing::Test {
    std::map<std::string, std::string> results = {{"eth_estimateGas", R"("0x5208")"},
                                                  {"eth_getTransactionCount", R"("0x0")"}};
    std::string error;  ///< Returned in place of all results.
    bool hash_is_ours = true;
    std::atomic<int> signed_calls{0};
    test::HostilePeer peer{[this](const std::string&, const test::HostilePeer::Send& send) {
        send(test::HostilePeer::ok(answer(json::parse(peer.body()).as_object())));
    }};
    RpcClient client = *RpcClient::connect(peer.url());
    const ledger::SecretKey key = *ledger::SecretKey::from_bytes(Bytes(32, 7));
    Submitter submitter{client, key, 7};

    std::string answer(const json::object& call) {
        const std::string head = R"({"jsonrpc":"2.0","id":1,)";
        if (!error.empty()) return head + R"("error":)" + error + "}";
        const std::string method(call.at("method").as_string());
        if (method != "eth_sendRawTransaction") return head + R"("result":)" + results[method] + "}";
        ++signed_calls;
        const auto raw = from_hex(std::string(call.at("params").as_array()[0].as_string()));
        const Hash32 hash = hash_is_ours ? ledger::keccak256(*raw) : Hash32{{1}};
        return head + R"("result":")" + to_0x(view(hash)) + R"("})";
    }
    void set_base_fee(const std::string& quantity) {
        results["eth_getBlockByNumber"] = R"({"baseFeePerGas":")" + quantity + R"("})";
    }
    Result<Hash32> send() { return submitter.send("a call", {}, {}, {}); }
};

TEST_F(Dishonest, AnHonestNodesFeeIsSigned) {
    set_base_fee("0x3b9aca00");
    const auto sent = send();
    EXPECT_TRUE(sent) << sent.error().message;
    EXPECT_EQ(signed_calls, 1);
}

TEST_F(Dishonest, FeesWithoutBoundAreNotSigned) {
    const std::string highest = "0x" + std::string(64, 'f');
    for (const std::string& fee : {highest, "0x1" + std::string(60, '0'), std::string("0x16345785d8a0000")}) {
        set_base_fee(fee);
        const auto sent = send();
        ASSERT_FALSE(sent) << fee;
        EXPECT_THAT(sent.error().message, HasSubstr("not signed"));
    }
    set_base_fee("0x3b9aca00");
    for (const char* const gas : {R"("0xffffffffffffffff")", R"("0xd5555555ffffffff")", R"("0x2540be400")"}) {
        results["eth_estimateGas"] = gas;
        EXPECT_FALSE(send()) << gas;
    }
    EXPECT_EQ(signed_calls, 0);
}

TEST_F(Dishonest, ReceiptsThatNobodyCouldPayAreRefused) {
    results["eth_getTransactionReceipt"] = R"({"status":"0x1","blockNumber":"0x1","gasUsed":"0xffff","logs":[],)"
                                           R"("effectiveGasPrice":"0x)" +
                                           std::string(64, 'f') + R"("})";
    EXPECT_FALSE(client.outcome(Hash32{}));
}

TEST_F(Dishonest, AnotherTransactionIsNotFollowed) {
    set_base_fee("0x3b9aca00");
    hash_is_ours = false;
    EXPECT_FALSE(send());
}

TEST_F(Dishonest, WordsDoNotSteerATerminal) {
    error = R"({"code":-32000,"message":"\u001b[2Jyou lost\u009b everything\r\n – ü"})";
    const auto height = client.height();
    ASSERT_FALSE(height);
    EXPECT_EQ(height.error().message, "?[2Jyou lost?? everything?? – ü");
}

TEST_F(Dishonest, AStateThatNoRuleMakesIsAFailureAndNoEnd) {
    const RemoteState state(client, 1);
    bool done = false;
    state.read([&] {
        ensure(false, "what the rules rely on");
        done = true;
    });
    EXPECT_FALSE(done);
    ASSERT_TRUE(state.failure());
    EXPECT_THAT(state.failure()->message, HasSubstr("what the rules rely on"));
    const RemoteState other(client, 2);
    other.read([&] { done = true; });
    EXPECT_TRUE(done);
    EXPECT_FALSE(other.failure());
}

/// Every read returns this record.
struct OneRecord final : ledger::StateView {
    Bytes record;
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address&, View) const override { return record; }
};

TEST(DishonestRecords, TasksAndParametersThatTheRulesRefuseAreNone) {
    OneRecord state;
    market::TaskSpec spec;
    spec.program_root = spec.init_root = Hash32{{1}};
    spec.program_bytes = spec.steps = spec.interval = spec.finish_blocks = 1;
    spec.price_ceiling = ledger::U256(1);
    spec.audit_bp = spec.auditors = spec.replicas = 1;
    state.record = market::encode_record(spec);
    EXPECT_TRUE(Immutable().spec(state, 1));
    spec.interval = 0;
    state.record = market::encode_record(spec);
    EXPECT_FALSE(Immutable().spec(state, 1)) << "segments are steps divided by it";
    market::Params params;
    state.record = market::encode_record(params);
    EXPECT_TRUE(Immutable().params(state));
    params.epoch_blocks = 0;
    state.record = market::encode_record(params);
    EXPECT_FALSE(Immutable().params(state)) << "epochs are heights divided by it";
}

TEST(DishonestChain, AFolderKeepsToItsChain) {
    const test::TemporaryFolder folder;
    const auto data = folder.path() / "data";
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(bind_to_chain(data, 7298));
    const auto other = bind_to_chain(data, 1);
    ASSERT_FALSE(other) << "an account of this key on that chain would pay for what this one signs";
    EXPECT_THAT(other.error().message, HasSubstr("belongs to chain 7298 and the node is of chain 1"));
    std::filesystem::resize_file(data / "chain-id", 0);
    EXPECT_FALSE(bind_to_chain(data, 7298)) << "nothing is guessed";
}

}  // namespace
}  // namespace retrace::node
