// SPDX-License-Identifier: MIT
// rpc.discover: the table of methods as an OpenRPC 1.2 document.
#include "node/rpc/router.hpp"

namespace retrace::node::rpc {
namespace {

json::object text_schema(const char* title, const char* pattern) {
    return {{"title", title}, {"type", "string"}, {"pattern", pattern}};
}

json::object schemas() {
    json::object out;
    out["Quantity"] = text_schema("unsigned integer in hex", "^0x(0|[1-9a-f][0-9a-f]*)$");
    out["Data"] = text_schema("bytes in hex", "^0x([0-9a-f]{2})*$");
    out["Hash"] = text_schema("32 bytes in hex", "^0x[0-9a-f]{64}$");
    out["Address"] = text_schema("20 bytes in hex", "^0x[0-9a-fA-F]{40}$");
    out["Text"] = json::object{{"title", "text"}, {"type", "string"}};
    out["Boolean"] = json::object{{"title", "true or false"}, {"type", "boolean"}};
    out["Object"] = json::object{{"title", "object"}, {"type", "object"}};
    out["Array"] = json::object{{"title", "array"}, {"type", "array"}};
    out["Any"] = json::object{{"title", "anything"}};
    out["Block"] = json::object{{"title", "block, or null"}, {"type", json::array{"object", "null"}}};
    out["Transaction"] =
        json::object{{"title", "transaction, or null"}, {"type", json::array{"object", "null"}}};
    out["Receipt"] = json::object{{"title", "receipt, or null"}, {"type", json::array{"object", "null"}}};
    out["Call"] = json::object{{"title", "call object"}, {"type", "object"}};
    out["Filter"] = json::object{{"title", "log filter"}, {"type", "object"}};
    out["BlockTag"] =
        json::object{{"title", "latest, pending, safe, finalized, earliest, height, hash or block object"}};
    return out;
}

json::object schema_ref(const std::string& type) {
    return {{"$ref", "#/components/schemas/" + type}};
}

json::object describe(const Method& method) {
    json::array params;
    for (const ParamInfo& param : method.params) {
        params.push_back(json::object{
            {"name", param.name}, {"required", param.required}, {"schema", schema_ref(param.type)}});
    }
    return {{"name", method.name},
            {"summary", method.summary},
            {"paramStructure", "by-position"},
            {"params", std::move(params)},
            {"result", json::object{{"name", "result"}, {"schema", schema_ref(method.result)}}}};
}

}  // namespace

json::value openrpc(const Router& router, std::string_view version) {
    json::array methods;
    for (const auto& [name, method] : router.methods()) methods.push_back(describe(method));
    return json::object{{"openrpc", "1.2.6"},
                        {"info", json::object{{"title", "Retrace JSON-RPC"}, {"version", version}}},
                        {"methods", std::move(methods)},
                        {"components", json::object{{"schemas", schemas()}}}};
}

}  // namespace retrace::node::rpc
