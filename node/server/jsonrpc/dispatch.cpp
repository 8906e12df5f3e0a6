// SPDX-License-Identifier: MIT
#include "node/server/jsonrpc/dispatch.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>

namespace retrace::node::rpc {
namespace {

constexpr std::string_view kNoId = "null";

/// `id` is the JSON text of the request's id.
std::string answer_text(std::string_view id, std::string_view member, const json::value& value) {
    std::string out = R"({"jsonrpc":"2.0","id":)";
    out += id;
    out += ",\"";
    out += member;
    out += "\":";
    out += json::serialize(value);
    out += '}';
    return out;
}

std::string error_text(std::string_view id, const RpcError& error) {
    json::object body{{"code", error.code}, {"message", error.message}};
    if (error.data) body["data"] = *error.data;
    return answer_text(id, "error", body);
}

std::string error_text(std::string_view id, int code, const char* message) {
    return error_text(id, RpcError{code, message, std::nullopt});
}

/// The id of a request; nullptr: a notification.
const json::value* id_of(const json::value& request) {
    const json::object* object = request.if_object();
    return object != nullptr ? object->if_contains("id") : nullptr;
}

/// The id as it is echoed, digit for digit; kNoId where it is none or is no id that JSON-RPC knows.
std::string echo_of(const json::value* id, std::string_view number) {
    if (id == nullptr) return std::string(kNoId);
    if (id->is_double() && !number.empty()) return std::string(number);
    return id->is_string() || id->is_number() || id->is_null() ? json::serialize(*id) : std::string(kNoId);
}

bool is_id(const json::value& id) { return id.is_string() || id.is_number() || id.is_null(); }

}  // namespace

std::string Dispatcher::handle(std::string_view body, Caller& caller) const {
    return handle(RequestBody(body, limits_.body), caller);
}

std::string Dispatcher::handle(const RequestBody& body, Caller& caller) const {
    switch (body.fault()) {
        case RequestBody::Fault::none: break;
        case RequestBody::Fault::not_json: return error_text(kNoId, kParseError, "parse error");
        case RequestBody::Fault::batch_too_large: return error_text(kNoId, kInvalidRequest, "batch too large");
        case RequestBody::Fault::too_many_values:
            return error_text(kNoId, kInvalidRequest, "too many values in one body");
        case RequestBody::Fault::too_many_members:
            return error_text(kNoId, kInvalidRequest, "too many members in one object");
    }
    if (const json::array* batch = body.document().if_array()) return handle_batch(*batch, body, caller);
    return handle_one(body.document(), body.number_id(0), caller);
}

std::string Dispatcher::refuse(const RequestBody* body, int code, const char* message) {
    const json::value* id = body != nullptr && body->is_json() ? id_of(body->document()) : nullptr;
    return error_text(echo_of(id, body != nullptr ? body->number_id(0) : std::string_view()), code, message);
}

RequestCost Dispatcher::cost_of(const json::value& request) const {
    const json::object* object = request.if_object();
    const json::value* name = object != nullptr ? object->if_contains("method") : nullptr;
    if (name == nullptr || !name->is_string()) return RequestCost::light;  // always answered with an error
    static const json::array no_params;
    const json::value* params = object->if_contains("params");
    return router_.cost_of({name->get_string().data(), name->get_string().size()},
                           params != nullptr && params->is_array() ? params->get_array() : no_params);
}

bool Dispatcher::is_light(const RequestBody& body, std::size_t bytes) const {
    if (bytes > limits_.light_bytes) return false;
    if (!body.is_json()) return true;
    const json::array* batch = body.document().if_array();
    if (batch != nullptr) {
        return batch->size() <= limits_.light_batch &&
               std::all_of(batch->begin(), batch->end(),
                           [this](const json::value& request) { return cost_of(request) == RequestCost::light; });
    }
    const RequestCost cost = cost_of(body.document());
    return cost == RequestCost::light || (cost == RequestCost::brief && bytes <= limits_.brief_bytes);
}

std::string Dispatcher::handle_batch(const json::array& requests, const RequestBody& body, Caller& caller) const {
    if (requests.empty()) return error_text(kNoId, kInvalidRequest, "empty batch");
    std::string out;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const json::value& request = requests[i];
        if (caller.budget != nullptr && caller.budget->abandoned()) return {};
        std::string answer;
        if (out.size() > limits_.response_bytes) {
            const json::value* id = id_of(request);
            if (id == nullptr) continue;
            answer = error_text(echo_of(id, body.number_id(i)), kResponseTooLarge, "response too large");
        } else {
            answer = handle_one(request, body.number_id(i), caller);
        }
        if (answer.empty()) continue;
        out += out.empty() ? '[' : ',';
        out += answer;
    }
    if (!out.empty()) out += ']';
    return out;
}

std::string Dispatcher::handle_one(const json::value& request, std::string_view number_id, Caller& caller) const {
    const json::object* object = request.if_object();
    if (object == nullptr) return error_text(kNoId, kInvalidRequest, "invalid request");
    const json::value* id = object->if_contains("id");
    if (id != nullptr && !is_id(*id)) return error_text(kNoId, kInvalidRequest, "invalid request");
    const std::string echo = echo_of(id, number_id);
    const json::value* version = object->if_contains("jsonrpc");
    const json::value* method = object->if_contains("method");
    if (version == nullptr || *version != "2.0" || method == nullptr || !method->is_string()) {
        return error_text(echo, kInvalidRequest, "invalid request");
    }
    // Checks only the time, before the rate limit: the rest of a timed-out batch must cost no tokens.
    if (const auto in_time = caller.spend(0); !in_time) {
        return id != nullptr ? error_text(echo, in_time.error()) : std::string();
    }
    if (caller.allowance != nullptr && !caller.allowance->take()) {
        if (id == nullptr) return {};
        return error_text(echo, kLimitExceeded, "request rate limit exceeded, try again later");
    }
    const Answer answer = run(*object, caller);
    if (id == nullptr) return {};
    return answer ? answer_text(echo, "result", *answer) : error_text(echo, answer.error());
}

Answer Dispatcher::run(const json::object& request, Caller& caller) const {
    static const json::array no_params;
    const json::string& name_text = request.at("method").get_string();
    const std::string_view name(name_text.data(), name_text.size());
    const json::value* params = request.if_contains("params");
    const bool absent = params == nullptr || params->is_null();
    const auto start = std::chrono::steady_clock::now();
    // An unknown method is reported before wrong parameters.
    const bool positional = absent || params->is_array();
    Answer answer = positional || router_.find(name) == nullptr
                        ? router_.call(name, !absent && positional ? params->get_array() : no_params, caller)
                        : Answer(invalid_params("non-array args"));
    if (observer_) {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        observer_(router_.find(name) != nullptr ? std::string(name) : "unknown", !answer, seconds.count());
    }
    return answer;
}

}  // namespace retrace::node::rpc
