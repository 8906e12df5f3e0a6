// SPDX-License-Identifier: MIT
#include "tests/unit/node/rpc_world.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "node/server/config/dev_chain.hpp"
#include "node/server/http/openrpc.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node::test {

TempFolder::TempFolder() {
    static int counter = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("retrace_node_" + std::to_string(::getpid()) + "_" + std::to_string(counter++));
    std::filesystem::create_directories(path_);
}

TempFolder::~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

ledger::Address ToyExecutor::contract() { return *ledger::parse_address("0x0000000000000000000000000000000000001001"); }

ledger::CallResult ToyExecutor::call(ledger::State& state, const ledger::BlockContext&,
                                     const ledger::Call& call) const {
    ledger::CallResult out;
    out.gas_used = 1000;
    out.ok = true;
    if (!state.transfer(call.sender, call.to, call.value)) out.ok = false;
    const std::uint8_t op = call.data.empty() ? std::uint8_t{echo} : call.data[0];
    switch (op) {
        case echo: out.output = to_bytes(call.data); break;
        case fail_text:
            out.ok = false;
            out.output = *from_hex(
                "08c379a00000000000000000000000000000000000000000000000000000000000000020"
                "0000000000000000000000000000000000000000000000000000000000000003"
                "626f6f0000000000000000000000000000000000000000000000000000000000");
            out.revert_reason = "boo: it was scary";
            break;
        case fail_custom:
            out.ok = false;
            out.output = *from_hex("deadbeef00");
            out.revert_reason = "custom: a reason";
            break;
        case fail_empty: out.ok = false; break;
        case store: state.set_slot(call.to, call.data.subspan(1, 1), to_bytes(call.data.subspan(2))); break;
        case emit:
            out.logs.push_back({call.to, {Hash32{{0x11}}, Hash32{{0x22}}}, to_bytes(call.data.subspan(1))});
            break;
        case emit_many: out.logs.assign(kMany, {call.to, {Hash32{{0x11}}}, {}}); break;
        case read_much:
            for (std::size_t i = 0; i < kMuch * (call.data.size() - 1); ++i) state.slot(call.to, call.data);
            break;
        case break_rule: ensure(false, "a rule of the toy"); break;
        default: out.ok = false;
    }
    if (!out.ok) out.logs.clear();
    return out;
}

ledger::CallResult ToyExecutor::view_call(const ledger::StateView& view, const ledger::BlockContext& block,
                                          const ledger::Call& c) const {
    ledger::State scratch(view);
    return call(scratch, block, c);
}

const ledger::SecretKey& dev_key(std::uint32_t index) {
    static std::map<std::uint32_t, ledger::SecretKey> keys;
    const auto it = keys.find(index);
    if (it != keys.end()) return it->second;
    return keys.emplace(index, *wallet::account_key(kDevMnemonic, "", index)).first->second;
}

std::optional<Bytes> OvertakenStore::get(View key) const {
    auto out = store_.get(key);
    if (then_ && !key.empty() && key[0] == static_cast<std::uint8_t>(letter_)) std::exchange(then_, {})();
    return out;
}

void OvertakenStore::after_read_of(char letter, std::function<void()> then) {
    letter_ = letter;
    then_ = std::move(then);
}

RpcWorld::RpcWorld(const ledger::TxExecutor* rules, Bytes genesis, ledger::ChainOptions kept)
    : pool(rules != nullptr ? *rules : executor) {
    const ledger::TxExecutor& used = rules != nullptr ? *rules : executor;
    auto opened = ledger::Chain::open(store, dev_genesis(std::move(genesis)), used, kept);
    EXPECT_TRUE(opened.has_value());
    chain = std::move(opened).value();
    clock_ns_ = chain->tip()->header.time_ns;
    application = std::make_unique<LedgerApplication>(*chain, pool);
    engine::SoloOptions options;
    options.log_path = folder.file("blocks.log");
    options.block_interval = std::chrono::milliseconds(0);
    options.clock = [this] { return clock_ns_ += 1'000'000'000; };
    engine = std::make_unique<engine::SoloEngine>(std::move(options));
    EXPECT_TRUE(engine->start(*application).has_value());
    auctions = std::make_unique<rpc::AuctionIndex>(auction_store, *chain);
    backend = std::make_unique<rpc::Backend>(
        rpc::Backend{*chain, pool, *application, *engine, filters, *auctions, "0.1.0", {}});
    backend->contracts.push_back({"IToy", ToyExecutor::contract(), "[]"});
    register_methods(router, *backend);
    register_discover(router, *backend);
    dispatcher = std::make_unique<rpc::Dispatcher>(router, rpc::DispatchLimits{});
    Listener listener;
    listener.on_pending = [this](const ledger::TxPtr& tx) { filters.on_pending(tx->hash); };
    application->listen(std::move(listener));
}

std::string RpcWorld::raw(const std::string& body) {
    rpc::Caller caller;
    return dispatcher->handle(body, caller);
}

json::value RpcWorld::request(const std::string& method, json::array params) {
    return json::parse(raw(json::serialize(
        json::object{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}})));
}

json::value RpcWorld::result(const std::string& method, json::array params) {
    const json::value answer = request(method, std::move(params));
    EXPECT_TRUE(answer.as_object().contains("result")) << method << ": " << json::serialize(answer);
    return answer.as_object().contains("result") ? answer.at("result") : json::value();
}

json::object RpcWorld::error(const std::string& method, json::array params) {
    const json::value answer = request(method, std::move(params));
    EXPECT_TRUE(answer.as_object().contains("error")) << method << ": " << json::serialize(answer);
    return answer.as_object().contains("error") ? answer.at("error").as_object() : json::object();
}

ledger::TxPtr RpcWorld::make_tx(std::uint32_t from, const ledger::Address& to, ledger::U256 value, Bytes data,
                                std::optional<std::uint64_t> nonce, std::uint64_t gas) {
    ledger::Transaction tx;
    tx.chain_id = kDevChainId;
    tx.nonce = nonce ? *nonce : pool.pending_nonce(dev_key(from).address(), *chain->view());
    tx.tip_cap = 1'000'000'000;
    tx.fee_cap = 10'000'000'000;
    tx.gas_limit = gas;
    tx.to = to;
    tx.value = value;
    tx.data = std::move(data);
    return ledger::sign_tx(std::move(tx), dev_key(from));
}

std::string RpcWorld::send(const ledger::TxPtr& tx) {
    return text(result("eth_sendRawTransaction", {to_0x(View(tx->raw))}));
}

void RpcWorld::mine() {
    const auto made = engine->produce();
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
}

std::string text(const json::value& v) {
    return v.is_string() ? std::string(v.get_string().c_str()) : json::serialize(v);
}

}  // namespace retrace::node::test
