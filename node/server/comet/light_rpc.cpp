// SPDX-License-Identifier: MIT
#include "node/server/comet/light_rpc.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <memory>

#include "node/server/comet/comet_rpc.hpp"
#include "node/server/comet/home.hpp"

namespace retrace::node::engine {
namespace {

namespace json = boost::json;

constexpr std::size_t kBodyMax = 1024;
constexpr std::chrono::milliseconds kWait{500};
constexpr std::string_view kMethods[] = {"commit", "consensus_params", "validators"};

HttpReply reply(unsigned status, const std::string& body) {
    HttpReply out;
    out.status = status;
    out.content_type = "application/json";
    out.body = to_bytes(view(std::string_view(body)));
    return out;
}

HttpReply refuse(unsigned status, int code, const std::string& why) {
    return reply(status,
                 json::serialize(json::object{
                     {"jsonrpc", "2.0"}, {"id", nullptr}, {"error", json::object{{"code", code}, {"message", why}}}}));
}

/// The request again, from the members that are passed on; nullopt: it is none of those.
std::optional<std::string> allowed(const Bytes& body) {
    boost::system::error_code failed;
    const json::value value = json::parse({reinterpret_cast<const char*>(body.data()), body.size()}, failed);
    const json::object* const request = failed ? nullptr : value.if_object();
    if (request == nullptr) return std::nullopt;
    const json::value* const method = request->if_contains("method");
    const json::value* const id = request->if_contains("id");
    const json::value* const params = request->if_contains("params");
    if (method == nullptr || !method->is_string() ||
        std::ranges::find(kMethods, std::string_view(method->get_string())) == std::end(kMethods)) {
        return std::nullopt;
    }
    if (id != nullptr && !id->is_number() && !id->is_string()) return std::nullopt;
    if (params != nullptr && !params->is_object()) return std::nullopt;
    return json::serialize(json::object{{"jsonrpc", "2.0"},
                                        {"id", id != nullptr ? *id : json::value(0)},
                                        {"method", *method},
                                        {"params", params != nullptr ? *params : json::value(json::object())}});
}

struct Release {
    void operator()(std::binary_semaphore* semaphore) const { semaphore->release(); }
};

}  // namespace

HttpRoute LightRpc::route() {
    return {std::string(kLightPath), kBodyMax, [this](const HttpRequest& request) { return answer(request); }};
}

HttpReply LightRpc::answer(const HttpRequest& request) {
    const auto passed_on = allowed(request.body);
    if (!passed_on) {
        return refuse(400, -32601,
                      "POST one JSON-RPC request here: commit, consensus_params or validators of CometBFT");
    }
    if (!running_.try_acquire_for(kWait)) return refuse(503, -32000, "too many requests of light clients; try again");
    const std::unique_ptr<std::binary_semaphore, Release> running(&running_);
    const auto answered = CometRpc(socket_).pass_on(*passed_on);
    if (!answered) return refuse(503, -32000, answered.error().message);
    return reply(200, *answered);
}

}  // namespace retrace::node::engine
