// SPDX-License-Identifier: MIT
#include "node/server/http/http_reply.hpp"

#include <algorithm>

namespace retrace::node::rpc {

void add_cors(const Shared& shared, const HttpMessage& request, ReplyMessage& reply) {
    const std::string_view origin = text(request[http::field::origin]);
    const auto& allowed = shared.options.cors_origins;
    const bool any = std::find(allowed.begin(), allowed.end(), "*") != allowed.end();
    if (any) {
        reply.set(http::field::access_control_allow_origin, "*");
    } else if (!origin.empty() && shared.origin_allowed(origin)) {
        reply.set(http::field::access_control_allow_origin, origin);
        reply.set(http::field::vary, "Origin");
    } else {
        return;
    }
    if (request.method() != http::verb::options) return;
    reply.set(http::field::access_control_allow_methods, "GET, POST, PUT, OPTIONS");
    reply.set(http::field::access_control_allow_headers, "content-type, authorization, range");
    reply.set(http::field::access_control_max_age, "600");
}

ReplyMessage make_reply(const HttpMessage& request, unsigned status, std::string_view type, std::string body) {
    ReplyMessage reply;
    reply.version(request.version());
    reply.result(status);
    reply.keep_alive(request.keep_alive());
    if (!type.empty()) reply.set(http::field::content_type, type);
    // A browser takes no answer for a script or a style sheet that is not declared as one, e.g. a stranger's artifact.
    reply.set("X-Content-Type-Options", "nosniff");
    reply.body() = std::move(body);
    return reply;
}

}  // namespace retrace::node::rpc
