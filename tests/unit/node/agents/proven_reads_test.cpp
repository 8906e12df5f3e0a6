// SPDX-License-Identifier: MIT
// What an agent reads under a proved state root is what the chain holds, or a failure, whatever the node answers.
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "contracts/executor.hpp"
#include "contracts/records/keys.hpp"
#include "contracts/records/views.hpp"
#include "ledger/chain/chain.hpp"
#include "ledger/storage/store.hpp"
#include "node/agents/chain_reader.hpp"
#include "node/platform/json_values.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/server/config/params_json.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

enum class Honesty { honest, other_leaf, other_state, no_proof };

struct ProvenReads : ::testing::Test {
    ProvenReads() {
        chain = open(first, dev_genesis({}));
        ledger::Genesis richer = dev_genesis({});
        richer.alloc.begin()->second += ledger::U256(1);
        other = open(second, richer);
    }
    std::unique_ptr<ledger::Chain> open(ledger::MemoryStore& store, ledger::Genesis genesis) {
        genesis.contracts = market::encode(default_params());
        return ledger::Chain::open(store, genesis, executor).value();
    }
    std::string answer(const json::object& call) const {
        if (call.at("method").as_string() != "retrace_getProof")
            return R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method"}})";
        const json::value& leaf = call.at("params").as_array()[0];
        ledger::Chain& asked = honesty == Honesty::other_state ? *other : *chain;
        const bool is_slot = leaf.is_object();
        Result<ledger::StateProof, ledger::ChainFailure> proof =
            is_slot ? asked.prove_slot(0, address_of(contracts::Contract::market),
                                       *rpc::parse_data(leaf.as_object().at("key")))
                    : asked.prove_account(0, *ledger::parse_address(std::string(leaf.as_string())));
        if (honesty == Honesty::other_leaf) proof = asked.prove_account(0, party(7));
        Writer out;
        encode_to(out, *proof);
        const std::string encoded = honesty == Honesty::no_proof ? "0x00" : rpc::data(View(out.data()));
        return json::serialize(
            json::object{{"jsonrpc", "2.0"}, {"id", 1}, {"result", json::object{{"encoded", encoded}}}});
    }
    static ledger::Address party(std::uint8_t i) {
        ledger::Address out;
        out.bytes.fill(i);
        return out;
    }
    RemoteState state() { return RemoteState(client, 0, chain->tip()->header.state_root); }

    const contracts::Executor executor;
    ledger::MemoryStore first, second;
    std::unique_ptr<ledger::Chain> chain, other;
    Honesty honesty = Honesty::honest;
    test::HostilePeer peer{[this](const std::string&, const test::HostilePeer::Send& send) {
        send(test::HostilePeer::ok(answer(json::parse(peer.body()).as_object())));
    }};
    RpcClient client = *RpcClient::connect(peer.url());
};

TEST_F(ProvenReads, AreWhatTheChainHolds) {
    const RemoteState remote = state();
    const auto view = chain->view();
    EXPECT_EQ(contracts::views::params(remote), contracts::views::params(*view));
    const ledger::Address rich = chain->genesis().alloc.begin()->first;
    EXPECT_EQ(remote.account(rich), view->account(rich));
    EXPECT_EQ(remote.account(party(9)), ledger::Account{}) << "absence is proved too";
    EXPECT_TRUE(remote.slot(address_of(contracts::Contract::market), Bytes{1, 2}).empty());
    EXPECT_FALSE(remote.failure()) << remote.failure()->message;
}

TEST_F(ProvenReads, FailWhenTheNodeLies) {
    for (const Honesty lie : {Honesty::other_leaf, Honesty::other_state, Honesty::no_proof}) {
        honesty = lie;
        const RemoteState slots = state();
        EXPECT_FALSE(contracts::views::params(slots).has_value());
        ASSERT_TRUE(slots.failure()) << static_cast<int>(lie);
        EXPECT_THAT(slots.failure()->message, HasSubstr("proof"));
        const RemoteState accounts = state();
        EXPECT_EQ(accounts.account(chain->genesis().alloc.begin()->first), ledger::Account{});
        EXPECT_TRUE(accounts.failure()) << static_cast<int>(lie);
    }
}

TEST_F(ProvenReads, OfABlockThatIsNotProvedFail) {
    ChainReader reader(client, light::TrustedBlock{2, std::string(64, 'a')});
    EXPECT_FALSE(reader.height().has_value());
    const RemoteState unknown = reader.state(5);
    EXPECT_TRUE(unknown.slot(address_of(contracts::Contract::market), Bytes{1}).empty());
    ASSERT_TRUE(unknown.failure());
    EXPECT_THAT(unknown.failure()->message, HasSubstr("is not proved"));
}

}  // namespace
}  // namespace retrace::node
