// SPDX-License-Identifier: MIT
#include "node/rpc/dispatch.hpp"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cmath>

namespace retrace::node::rpc {
namespace {

std::string error_text(const json::value& id, const RpcError& error) {
    json::object body{{"code", error.code}, {"message", error.message}};
    if (error.data) body["data"] = *error.data;
    return json::serialize(json::object{{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}});
}

std::string error_text(const json::value& id, int code, const char* message) {
    return error_text(id, RpcError{code, message, std::nullopt});
}

std::string result_text(const json::value& id, const json::value& result) {
    std::string out = R"({"jsonrpc":"2.0","id":)";
    out += json::serialize(id);
    out += R"(,"result":)";
    out += json::serialize(result);
    out += '}';
    return out;
}

/// A number beyond double's range has no text that could be echoed.
bool is_id(const json::value& id) {
    if (id.is_double()) return std::isfinite(id.get_double());
    return id.is_string() || id.is_number() || id.is_null();
}

}  // namespace

std::string Dispatcher::handle(std::string_view body, Caller& caller) const {
    json::parse_options options;
    options.max_depth = limits_.depth;
    json::error_code failed;
    // One arena for the whole document: a request of many small values costs no allocation each.
    json::monotonic_resource arena;
    const json::value document = json::parse({body.data(), body.size()}, failed, &arena, options);
    if (failed) return error_text(nullptr, kParseError, "parse error");
    if (const json::array* batch = document.if_array()) return handle_batch(*batch, caller);
    return handle_one(document, caller);
}

std::string Dispatcher::handle_batch(const json::array& requests, Caller& caller) const {
    if (requests.empty()) return error_text(nullptr, kInvalidRequest, "empty batch");
    if (requests.size() > limits_.batch) return error_text(nullptr, kInvalidRequest, "batch too large");
    std::string out;
    for (const json::value& request : requests) {
        std::string answer;
        if (out.size() > limits_.response_bytes) {
            const json::object* object = request.if_object();
            const json::value* id = object != nullptr ? object->if_contains("id") : nullptr;
            if (id == nullptr) continue;
            answer = error_text(is_id(*id) ? *id : json::value(), kResponseTooLarge, "response too large");
        } else {
            answer = handle_one(request, caller);
        }
        if (answer.empty()) continue;
        out += out.empty() ? '[' : ',';
        out += answer;
    }
    if (!out.empty()) out += ']';
    return out;
}

std::string Dispatcher::handle_one(const json::value& request, Caller& caller) const {
    const json::object* object = request.if_object();
    if (object == nullptr) return error_text(nullptr, kInvalidRequest, "invalid request");
    const json::value* id = object->if_contains("id");
    if (id != nullptr && !is_id(*id)) return error_text(nullptr, kInvalidRequest, "invalid request");
    const json::value* version = object->if_contains("jsonrpc");
    const json::value* method = object->if_contains("method");
    if (version == nullptr || *version != "2.0" || method == nullptr || !method->is_string()) {
        return error_text(id != nullptr ? *id : json::value(), kInvalidRequest, "invalid request");
    }
    if (caller.allowance != nullptr && !caller.allowance->take()) {
        if (id == nullptr) return {};
        return error_text(*id, kLimitExceeded, "request rate limit exceeded, try again later");
    }
    const Answer answer = run(*object, caller);
    if (id == nullptr) return {};
    return answer ? result_text(*id, *answer) : error_text(*id, answer.error());
}

Answer Dispatcher::run(const json::object& request, Caller& caller) const {
    static const json::array no_params;
    const json::string& name_text = request.at("method").get_string();
    const std::string_view name(name_text.data(), name_text.size());
    const json::value* params = request.if_contains("params");
    const bool absent = params == nullptr || params->is_null();
    const auto start = std::chrono::steady_clock::now();
    Answer answer = absent || params->is_array()
                        ? router_.call(name, absent ? no_params : params->get_array(), caller)
                        : Answer(invalid_params("non-array args"));
    if (observer_) {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        observer_(router_.find(name) != nullptr ? std::string(name) : "unknown", !answer, seconds.count());
    }
    return answer;
}

}  // namespace retrace::node::rpc
