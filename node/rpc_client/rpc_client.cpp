// SPDX-License-Identifier: MIT
#include "node/rpc_client/rpc_client.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <thread>

#include "ledger/crypto/keccak.hpp"
#include "node/platform/json_values.hpp"
#include "node/platform/printable.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using rpc::Parsed;

RpcFailure strange(std::string_view what) {
    return {0, "the node's answer is not what was asked for: " + std::string(what), {}, false};
}

/// Value of member `name` of an object, parsed.
template <class Parse>
auto member(const json::value& value, const char* name, Parse parse)
    -> Result<typename decltype(parse(value))::value_type, RpcFailure> {
    const json::object* object = value.if_object();
    const json::value* found = object != nullptr ? object->if_contains(name) : nullptr;
    if (found == nullptr) return Unexpected{strange(std::string("no ") + name)};
    auto parsed = parse(*found);
    if (!parsed) return Unexpected{strange(std::string(name) + ": " + parsed.error())};
    return std::move(*parsed);
}

Result<ledger::Log, RpcFailure> parse_log(const json::value& value) {
    ledger::Log log;
    RETRACE_TRY(address, member(value, "address", rpc::parse_address));
    RETRACE_TRY(data, member(value, "data", rpc::parse_data));
    log.address = address;
    log.data = std::move(data);
    const json::value* topics = value.as_object().if_contains("topics");
    if (topics == nullptr || !topics->is_array()) return Unexpected{strange("no topics")};
    for (const json::value& topic : topics->get_array()) {
        const auto hash = rpc::parse_hash(topic);
        if (!hash) return Unexpected{strange("a topic")};
        log.topics.push_back(*hash);
    }
    return log;
}

Result<TxOutcome, RpcFailure> parse_receipt(const Hash32& tx, const json::value& value) {
    TxOutcome out;
    out.hash = tx;
    RETRACE_TRY(status, member(value, "status", rpc::parse_u64));
    RETRACE_TRY(height, member(value, "blockNumber", rpc::parse_u64));
    RETRACE_TRY(gas, member(value, "gasUsed", rpc::parse_u64));
    RETRACE_TRY(price, member(value, "effectiveGasPrice", rpc::parse_u256));
    out.ok = status == 1;
    out.height = height;
    out.gas_used = gas;
    out.gas_price = price;
    if (!ledger::checked_mul(price, gas)) return Unexpected{strange("a fee that nobody has")};
    const json::object& object = value.as_object();
    if (const json::value* reason = object.if_contains("error"); reason != nullptr && reason->is_string()) {
        out.reason = printable(reason->get_string().c_str());
    }
    const json::value* logs = object.if_contains("logs");
    if (logs == nullptr || !logs->is_array()) return Unexpected{strange("no logs")};
    for (const json::value& entry : logs->get_array()) {
        RETRACE_TRY(log, parse_log(entry));
        out.logs.push_back(std::move(log));
    }
    return out;
}

RpcFailure interrupted() { return {0, "interrupted", {}, false}; }

json::object request_of(std::uint64_t id, std::string_view method, json::array params) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

/// The result in an answer to one call, or its error.
Result<json::value, RpcFailure> result_of(const json::value& answer) {
    const json::object* object = answer.if_object();
    if (object == nullptr) return Unexpected{strange("no JSON-RPC")};
    if (const json::value* failure = object->if_contains("error"); failure != nullptr && failure->is_object()) {
        RpcFailure out{-32603, "unknown error", {}, false};
        const json::object& fields = failure->get_object();
        if (const json::value* v = fields.if_contains("code"); v != nullptr && v->is_int64()) {
            out.code = static_cast<int>(v->get_int64());
        }
        if (const json::value* v = fields.if_contains("message"); v != nullptr && v->is_string()) {
            out.message = printable(v->get_string().c_str());
        }
        if (const json::value* v = fields.if_contains("data"); v != nullptr && v->is_string()) {
            out.data = v->get_string().c_str();
        }
        return Unexpected{std::move(out)};
    }
    const json::value* result = object->if_contains("result");
    if (result == nullptr) return Unexpected{strange("neither result nor error")};
    return *result;
}

/// The result of the call `id` in the answer to several.
Result<json::value, RpcFailure> result_of(const json::value& answers, std::uint64_t id) {
    const json::array* all = answers.if_array();
    if (all == nullptr) {  // A node refuses them as a whole by one error.
        RETRACE_CHECK(result_of(answers));
        return Unexpected{strange("one answer to several calls")};
    }
    for (const json::value& answer : *all) {
        const json::object* object = answer.if_object();
        const json::value* of = object != nullptr ? object->if_contains("id") : nullptr;
        if (of != nullptr && *of == json::value(id)) return result_of(answer);
    }
    return Unexpected{strange("no answer to one of several calls")};
}

/// Whether a filter with one address, or with one topic or none at a place, asks for the log.
bool is_asked_for(const json::object& filter, const ledger::Log& log) {
    if (const json::value* address = filter.if_contains("address"))
        if (*address != json::value(rpc::data(log.address))) return false;
    const json::value* topics = filter.if_contains("topics");
    if (topics == nullptr) return true;
    const json::array& wanted = topics->get_array();
    if (log.topics.size() < wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (!wanted[i].is_null() && wanted[i] != json::value(rpc::data(log.topics[i]))) return false;
    return true;
}

}  // namespace

Result<Fees> fees_of(const ledger::U256& base_fee, const ledger::U256& tip, std::uint64_t gas) {
    const auto twice = ledger::checked_mul(base_fee, 2);
    const auto cap = twice ? ledger::checked_add(*twice, tip) : std::nullopt;
    const auto most = cap ? ledger::checked_mul(*cap, gas) : std::nullopt;
    if (!most || *most > kFeeMost) {
        return error("the node asks for " + std::to_string(gas) + " gas at a base fee of " + base_fee.to_decimal() +
                     " wei, more than ten coins for one call: not signed");
    }
    return Fees{gas, tip, *cap};
}

Result<Fees> fees_under(const ledger::U256& fee_cap, const ledger::U256& tip_cap, std::uint64_t gas) {
    if (tip_cap > fee_cap) return error("the tip is a part of the fee of one gas and is over it: not signed");
    const auto most = ledger::checked_mul(fee_cap, gas);
    if (!most || *most > kFeeMost)
        return error(std::to_string(gas) + " gas at " + fee_cap.to_decimal() +
                     " wei may cost more than ten coins: not signed");
    return Fees{gas, tip_cap, fee_cap};
}

Result<RpcClient> RpcClient::connect(const std::string& url, const Options& options) {
    const auto parsed = parse_url(url);
    if (!parsed) return error(parsed.error().message);
    return RpcClient(url, HttpConnection(*parsed), options);
}

Result<HttpReply, Failure> RpcClient::exchange(const HttpRequest& request) {
    const auto start = std::chrono::steady_clock::now();
    for (bool reported = false;;) {
        auto reply = connection_.exchange(request, options_.reply_limit, options_.stop.ending_after(options_.deadline));
        const bool no_answer = !reply && reply.error().fault == Fault::unreachable && !options_.stop.stop_requested();
        if (!no_answer || std::chrono::steady_clock::now() - start >= options_.timeout) {
            if (reported && reply && options_.on_no_answer) options_.on_no_answer({});
            return reply;
        }
        if (!reported && options_.on_no_answer) options_.on_no_answer(reply.error().message);
        reported = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}

Result<json::value, RpcFailure> RpcClient::post(const json::value& calls) {
    const std::string body = json::serialize(calls);
    const HttpRequest request{"POST", "/", to_bytes(view(std::string_view(body))), "application/json", {}};
    if (options_.stop.stop_requested()) return Unexpected{interrupted()};
    const auto reply = exchange(request);
    if (!reply && options_.stop.stop_requested()) return Unexpected{interrupted()};
    if (!reply) {
        const Fault fault = reply.error().fault;
        return Unexpected{RpcFailure{0,
                                     "no answer from the node at " + url_ + ": " + reply.error().message,
                                     {},
                                     fault == Fault::unreachable || fault == Fault::timeout}};
    }
    boost::system::error_code code;
    json::value value = json::parse({reinterpret_cast<const char*>(reply->body.data()), reply->body.size()}, code);
    if (code || !(value.is_object() || value.is_array())) {
        return Unexpected{
            RpcFailure{0, url_ + " answered HTTP " + std::to_string(reply->status) + " without JSON-RPC", {}, false}};
    }
    return value;
}

Result<json::value, RpcFailure> RpcClient::call(std::string_view method, json::array params) {
    RETRACE_TRY(answer, post(request_of(++id_, method, std::move(params))));
    return result_of(answer);
}

Result<std::uint64_t, RpcFailure> RpcClient::quantity(std::string_view method, json::array params) {
    RETRACE_TRY(value, call(method, std::move(params)));
    const auto parsed = rpc::parse_u64(value);
    if (!parsed) return Unexpected{strange(parsed.error())};
    return *parsed;
}

Result<std::uint64_t, RpcFailure> RpcClient::chain_id() { return quantity("eth_chainId", {}); }
Result<std::uint64_t, RpcFailure> RpcClient::height() { return quantity("eth_blockNumber", {}); }

Result<ledger::Account, RpcFailure> RpcClient::account(const ledger::Address& address) {
    RETRACE_TRY(value, call("retrace_getAccount", {rpc::data(address), "latest"}));
    ledger::Account out;
    RETRACE_TRY(nonce, member(value, "nonce", rpc::parse_u64));
    RETRACE_TRY(balance, member(value, "balance", rpc::parse_u256));
    out.nonce = nonce;
    out.balance = balance;
    return out;
}

Result<std::uint64_t, RpcFailure> RpcClient::next_nonce(const ledger::Address& address) {
    return quantity("eth_getTransactionCount", {rpc::data(address), "pending"});
}

Result<ledger::U256, RpcFailure> RpcClient::base_fee() {
    RETRACE_TRY(value, call("eth_getBlockByNumber", {"latest", false}));
    return member(value, "baseFeePerGas", rpc::parse_u256);
}

Result<std::uint64_t, RpcFailure> RpcClient::estimate_gas(const ledger::Address& from, const ledger::Address& to,
                                                          const ledger::U256& value, View data) {
    return quantity("eth_estimateGas", {json::object{{"from", rpc::data(from)},
                                                     {"to", rpc::data(to)},
                                                     {"value", rpc::quantity(value)},
                                                     {"data", rpc::data(data)}}});
}

Result<Hash32, RpcFailure> RpcClient::send_raw(View tx) {
    const auto value = call("eth_sendRawTransaction", {rpc::data(tx)});
    const Hash32 sent = ledger::keccak256(tx);
    if (!value) {
        const auto there = value.error().code != 0 ? known(sent) : Result<bool, RpcFailure>(false);
        if (there && *there) return sent;
        return Unexpected{value.error()};
    }
    const auto hash = rpc::parse_hash(*value);
    if (!hash) return Unexpected{strange(hash.error())};
    if (*hash != sent) return Unexpected{strange("the hash of another transaction")};
    return sent;
}

Result<std::optional<TxOutcome>, RpcFailure> RpcClient::outcome(const Hash32& tx) {
    RETRACE_TRY(value, call("eth_getTransactionReceipt", {rpc::data(tx)}));
    if (value.is_null()) return std::optional<TxOutcome>{};
    RETRACE_TRY(out, parse_receipt(tx, value));
    return std::optional<TxOutcome>(std::move(out));
}

Result<std::vector<BlockReceipt>, RpcFailure> RpcClient::block_receipts(std::uint64_t height) {
    RETRACE_TRY(value, call("eth_getBlockReceipts", {rpc::quantity(height)}));
    if (!value.is_array()) return Unexpected{strange("no receipts")};
    std::vector<BlockReceipt> out;
    for (const json::value& entry : value.get_array()) {
        RETRACE_TRY(tx, member(entry, "transactionHash", rpc::parse_hash));
        RETRACE_TRY(outcome, parse_receipt(tx, entry));
        RETRACE_TRY(cumulative_gas, member(entry, "cumulativeGasUsed", rpc::parse_u64));
        out.push_back({std::move(outcome), cumulative_gas});
    }
    return out;
}

Result<std::vector<PlacedLog>, RpcFailure> RpcClient::logs(const ledger::Address& address, std::uint64_t from,
                                                           std::uint64_t to) {
    return find_logs({{"address", rpc::data(address)}}, from, to);
}

Result<std::vector<PlacedLog>, RpcFailure> RpcClient::logs_with(const std::vector<std::optional<Hash32>>& topics,
                                                                std::uint64_t from, std::uint64_t to) {
    json::array wanted;
    for (const auto& topic : topics) wanted.push_back(topic ? json::value(rpc::data(*topic)) : json::value(nullptr));
    return find_logs({{"topics", std::move(wanted)}}, from, to);
}

Result<std::vector<PlacedLog>, RpcFailure> RpcClient::find_logs(json::object filter, std::uint64_t from,
                                                                std::uint64_t to) {
    filter["fromBlock"] = rpc::quantity(from);
    filter["toBlock"] = rpc::quantity(to);
    // In one request, so that the node whose height it is has looked for the logs, after it had that height: a node
    // answers about the blocks that it has, and does not say that it lacks some.
    const std::uint64_t height_id = ++id_, logs_id = ++id_;
    RETRACE_TRY(answers, post(json::array{request_of(height_id, "eth_blockNumber", {}),
                                          request_of(logs_id, "eth_getLogs", {filter})}));
    RETRACE_TRY(tip, result_of(answers, height_id));
    RETRACE_TRY(value, result_of(answers, logs_id));
    const auto height = rpc::parse_u64(tip);
    if (!height) return Unexpected{strange(height.error())};
    if (*height < to)
        return Unexpected{RpcFailure{kBehind,
                                     "the node that has answered is behind: it has the blocks up to " +
                                         std::to_string(*height) + ", and not " + std::to_string(to),
                                     {},
                                     false}};
    if (!value.is_array()) return Unexpected{strange("no logs")};
    std::vector<PlacedLog> out;
    for (const json::value& entry : value.get_array()) {
        RETRACE_TRY(log, parse_log(entry));
        RETRACE_TRY(placed, member(entry, "blockNumber", rpc::parse_u64));
        RETRACE_TRY(tx, member(entry, "transactionHash", rpc::parse_hash));
        if (placed < from || placed > to || !is_asked_for(filter, log))
            return Unexpected{strange("a log of block " + std::to_string(placed))};
        out.push_back({placed, tx, std::move(log)});
    }
    return out;
}

Result<std::uint64_t, RpcFailure> RpcClient::block_time(std::uint64_t height) {
    RETRACE_TRY(value, call("eth_getBlockByNumber", {rpc::quantity(height), false}));
    return member(value, "timestamp", rpc::parse_u64);
}

Result<bool, RpcFailure> RpcClient::known(const Hash32& tx) {
    RETRACE_TRY(value, call("eth_getTransactionByHash", {rpc::data(tx)}));
    return !value.is_null();
}

}  // namespace retrace::node
