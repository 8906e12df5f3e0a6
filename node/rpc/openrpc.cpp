// SPDX-License-Identifier: MIT
// rpc.discover: the table of methods as an OpenRPC 1.2 document.
#include "node/rpc/router.hpp"
#include "node/rpc/schemas.hpp"

namespace retrace::node::rpc {
namespace {

json::object describe(const Method& method) {
    json::array params;
    for (const ParamInfo& param : method.params) {
        params.push_back(json::object{
            {"name", param.name}, {"required", param.required}, {"schema", schema_named(param.type)}});
    }
    return {{"name", method.name},
            {"summary", method.summary},
            {"paramStructure", "by-position"},
            {"params", std::move(params)},
            {"result", json::object{{"name", "result"}, {"schema", schema_named(method.result)}}}};
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
