// SPDX-License-Identifier: MIT
// Bodies of JSON-RPC requests, on a chain in memory with all methods of Ethereum's families. For any input, the output
// is nothing or a valid JSON-RPC 2.0 response, and a naive reader agrees on whether the input is JSON.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "contracts/calls/call_status.hpp"
#include "contracts/executor.hpp"
#include "market/params.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/server/http/openrpc.hpp"
#include "node/server/jsonrpc/dispatch.hpp"
#include "node/server/methods/auction_index.hpp"
#include "node/server/methods/filters.hpp"
#include "node/server/methods/methods.hpp"
#include "node/wallet/mnemonic.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "tests/fuzz/node/naive_json.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;
namespace json = boost::json;

/// An engine that accepts transactions into the pool and never makes a block by itself.
class IdleEngine final : public engine::Engine {
public:
    explicit IdleEngine(LedgerApplication& application) : application_(application) {}
    std::string_view name() const noexcept override { return "idle"; }
    Status<> start(engine::Application&) override { return Unit{}; }
    void stop() noexcept override {}
    void announce(View) override {}
    engine::EngineStatus status() const override {
        engine::EngineStatus out;
        out.height = application_.info().height;
        return out;
    }

private:
    LedgerApplication& application_;
};

Bytes transfer(std::uint64_t nonce) {
    ledger::Transaction tx;
    tx.chain_id = kDevChainId;
    tx.nonce = nonce;
    tx.tip_cap = 1'000'000'000;
    tx.fee_cap = 10'000'000'000;
    tx.gas_limit = ledger::kTransferGas;
    tx.to = ledger::Address{};
    tx.value = 7;
    const auto key = wallet::account_key(kDevMnemonic, "", 0);
    return ledger::sign_tx(tx, *key)->raw;
}

struct World {
    World() {
        for (std::uint64_t height = 1; height <= 3; ++height) {
            const Bytes raw = transfer(height - 1);
            const View txs[] = {raw};
            const std::uint64_t time = chain->tip()->header.time_ns + 1'000'000'000;
            const auto outcome = chain->execute_block({height, time, {}, txs, {}});
            require(outcome && chain->commit(*outcome), "blocks can be made");
        }
        rpc::register_methods(router, backend);
        rpc::register_discover(router, backend);
    }

    contracts::Executor executor;
    ledger::MemoryStore store;
    std::unique_ptr<ledger::Chain> chain =
        ledger::Chain::open(store, dev_genesis(market::encode(market::Params{})), executor, {.threads = 1}).value();
    ledger::Mempool pool{executor};
    LedgerApplication application{*chain, pool};
    IdleEngine engine{application};
    rpc::FilterStore filters;
    ledger::MemoryStore auction_store;
    rpc::AuctionIndex auctions{auction_store, *chain};
    rpc::Backend backend{*chain, pool, application, engine, filters, auctions, "0.1.0", {}};
    rpc::Router router;
    rpc::Dispatcher dispatcher{router, {}};
};

void check_answer(const json::value& answer) {
    const json::object* object = answer.if_object();
    require(object != nullptr && object->at("jsonrpc") == "2.0" && object->contains("id"), "an answer is an answer");
    require(object->contains("result") != object->contains("error"), "it has a result or an error");
    if (!object->contains("error")) return;
    const json::value& error = object->at("error");
    require(error.at("code").is_int64() && error.at("message").is_string(), "an error has a code and words");
    require(error.at("code") != rpc::kInternalError, "nothing from outside is an internal error");
}

/// Checks that a parse error is returned exactly if the text is not JSON of at most 32 levels.
void check_parse(std::string_view body, bool parse_error) {
    naive::JsonReader reader(body, rpc::BodyLimits{}.depth);
    const bool is_json = reader.read().has_value();
    if (!reader.huge_exponent()) require(is_json != parse_error, "both readers agree on what is JSON");
}

std::string request(std::string_view method, std::string_view params) {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"(","params":)" + std::string(params) + "}";
}

}  // namespace

std::vector<Bytes> seeds() {
    const std::string address = "\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\"";
    const std::string hash = '"' + to_0x(Bytes(32, 1)) + '"';
    const std::string call = R"({"from":)" + address + R"(,"to":"0x0000000000000000000000000000000000001002",)" +
                             R"("data":"0x","gas":"0x186a0","value":"0x0"})";
    const std::string filter =
        R"({"fromBlock":"0x0","toBlock":"latest","address":[)" + address + R"(],"topics":[null,[)" + hash + "]]}";
    const std::string most = '"' + to_0x(Bytes(32, 255)) + '"';
    const std::string staking = "\"0x0000000000000000000000000000000000001001\"";
    const std::string deposit = R"({"from":)" + address + R"(,"to":)" + staking + R"(,"value":)" + most +
                                R"(,"data":"0xd0e30db0"},"latest",{)" + address + R"(:{"balance":)" + most + "}";
    const std::pair<std::string_view, std::string> requests[] = {
        {"web3_clientVersion", "[]"},
        {"web3_sha3", R"(["0x1234"])"},
        {"net_version", "[]"},
        {"eth_chainId", "[]"},
        {"eth_syncing", "[]"},
        {"eth_blockNumber", "[]"},
        {"eth_gasPrice", "[]"},
        {"eth_feeHistory", R"(["0x4","latest",[10,50.5,90]])"},
        {"eth_getBalance", "[" + address + R"(,"latest"])"},
        {"eth_getBalance", "[" + address + R"(,{"blockNumber":"0x1"}])"},
        {"eth_getTransactionCount", "[" + address + R"(,"pending"])"},
        {"eth_getCode", "[" + address + R"(,"0x0"])"},
        {"eth_getStorageAt", "[" + address + R"(,"0x0","latest"])"},
        {"eth_getProof", "[" + address + R"(,["0x0"],"latest"])"},
        {"eth_getBlockByNumber", R"(["0x1",true])"},
        {"eth_getBlockByHash", "[" + hash + ",false]"},
        {"eth_getBlockReceipts", R"(["0x2"])"},
        {"eth_getTransactionByHash", "[" + hash + "]"},
        {"eth_getTransactionReceipt", "[" + hash + "]"},
        {"eth_getTransactionByBlockNumberAndIndex", R"(["0x1","0x0"])"},
        {"eth_call", "[" + call + R"(,"latest"])"},
        {"eth_estimateGas", "[" + call + "]"},
        {"eth_call", "[" + deposit + "}]"},
        {"eth_call", "[" + deposit + "," + staking + R"(:{"balance":"0x1","nonce":"0x1"}}])"},
        {"eth_estimateGas", "[" + deposit + R"(},{"number":"0x1"}])"},
        {"eth_sendRawTransaction", "[\"" + to_0x(transfer(3)) + "\"]"},
        {"eth_getLogs", "[" + filter + "]"},
        {"eth_newFilter", "[" + filter + "]"},
        {"eth_newBlockFilter", "[]"},
        {"eth_getFilterChanges", R"(["0x1"])"},
        {"eth_subscribe", R"(["logs",{}])"},
        {"retrace_nodeStatus", "[]"},
        {"retrace_getStateProof", "[" + address + R"(,[],"latest"])"},
        {"rpc.discover", "[]"},
    };
    std::vector<Bytes> out;
    std::string batch = "[";
    for (const auto& [method, params] : requests) {
        const std::string body = request(method, params);
        out.push_back(to_bytes(view(body)));
        if (batch.size() < 2000) batch += (batch.size() > 1 ? "," : "") + body;
    }
    out.push_back(to_bytes(view(batch + "]")));
    out.push_back(to_bytes(view(R"({"jsonrpc":"2.0","method":"eth_chainId","params":[]})")));
    out.push_back(Bytes(200, '['));
    for (const std::size_t depth : {31, 32, 33}) {
        const std::string nested = std::string(depth, '[') + std::string(depth, ']');
        out.push_back(to_bytes(view(nested)));
    }
    for (const std::string_view text :
         {R"({"jsonrpc":"2.0","id":-0,"method":"\u0065th_\ud83d\ude00\n"})", "[1e5,-0.25E-3,18446744073709551616]",
          "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", R"("\ud800")", "\"\xed\xa0\x80\"", "[1,]", "01"})
        out.push_back(to_bytes(view(text)));
    return out;
}

void run(View input) {
    static World world;
    rpc::Caller caller;
    const std::string_view body(reinterpret_cast<const char*>(input.data()), input.size());
    const std::string answer = world.dispatcher.handle(body, caller);
    if (answer.empty()) return check_parse(body, false);
    json::error_code failed;
    const json::value parsed = json::parse(answer, failed);
    require(!failed, "an answer is JSON");
    if (const json::array* batch = parsed.if_array()) {
        for (const json::value& one : *batch) check_answer(one);
        return check_parse(body, false);
    }
    check_answer(parsed);
    const json::value* error = parsed.as_object().if_contains("error");
    // A body over a limit was parsed only up to there.
    if (error != nullptr &&
        (error->at("message") == "batch too large" || error->at("message") == "too many values in one body" ||
         error->at("message") == "too many members in one object"))
        return;
    check_parse(body, error != nullptr && error->at("code") == rpc::kParseError);
}

}  // namespace retrace::fuzz
