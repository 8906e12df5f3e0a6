// SPDX-License-Identifier: MIT
// A fake node that serves arbitrary records set by a test, whether or not the rules could produce them.
#pragma once

#include <atomic>
#include <boost/json.hpp>
#include <functional>
#include <map>
#include <string>

#include "contracts/records/keys.hpp"
#include "market/record.hpp"
#include "node/platform/json_values.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node::test {

class FakeNode {
public:
    std::atomic<std::uint64_t> height{10};
    std::atomic<int> asked_for_slots{0};
    std::atomic<int> sent{0};                                ///< Transactions that clients tried to send.
    std::atomic<std::uint64_t> unreadable_from{UINT64_MAX};  ///< Height from which slots cannot be decoded.
    /// Answers calls before all else: the member "result" or "error" of an answer with its value, as JSON; empty for the
    /// node's own answer. Set it before the first request.
    std::function<std::string(const std::string& method, const boost::json::array& params)> answers;

    /// Sets a record; call it before the first request.
    template <class T>
    void put(const contracts::keys::Key& key, const T& record) {
        slots_[rpc::data(contracts::address_of(key.contract)) + rpc::data(View(key.bytes))] =
            rpc::data(View(market::encode_record(record)));
    }
    const std::string& url() const { return peer_.url(); }

private:
    std::string result(const boost::json::object& call) {
        const std::string method(call.at("method").as_string());
        if (method == "eth_chainId") return R"("0x1c82")";
        if (method == "eth_blockNumber") return boost::json::serialize(rpc::quantity(height.load()));
        if (method == "retrace_getAccount") return R"({"nonce":"0x0","balance":"0x0"})";
        if (method == "eth_getLogs") return "[]";
        if (method == "eth_sendRawTransaction" || method == "eth_estimateGas") ++sent;
        if (method != "retrace_getSlots") return "null";
        ++asked_for_slots;
        if (height >= unreadable_from) return R"({"values":[7]})";
        boost::json::array values;
        for (const auto& name : call.at("params").at(0).as_array()) {
            const auto& slot = name.as_object();
            const auto found =
                slots_.find(std::string(slot.at("contract").as_string()) + std::string(slot.at("key").as_string()));
            values.emplace_back(found == slots_.end() ? "0x" : found->second);
        }
        return boost::json::serialize(boost::json::object{{"values", std::move(values)}});
    }
    std::string answer(const boost::json::object& object) {
        std::string told;
        if (answers) told = answers(std::string(object.at("method").as_string()), object.at("params").as_array());
        if (told.empty()) told = R"("result":)" + result(object);
        return R"({"jsonrpc":"2.0","id":)" + boost::json::serialize(object.at("id")) + "," + told + "}";
    }
    std::string answer() {
        boost::system::error_code none;
        const auto call = boost::json::parse(peer_.body(), none);
        if (!none && call.is_object()) return HostilePeer::ok(answer(call.as_object()));
        if (none || !call.is_array()) return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        std::string all;
        for (const auto& one : call.as_array()) all += (all.empty() ? "" : ",") + answer(one.as_object());
        return HostilePeer::ok("[" + all + "]");
    }

    std::map<std::string, std::string> slots_;  ///< By contract and key.
    HostilePeer peer_{[this](const std::string&, const HostilePeer::Send& send) { send(answer()); }};
};

}  // namespace retrace::node::test
