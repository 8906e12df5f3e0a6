// SPDX-License-Identifier: MIT
// The request and the reply of an HTTP exchange, and the routes that a server answers. They are independent of any HTTP
// library; the client, the artifact server and the JSON-RPC server use them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "merkle/base/bytes.hpp"

namespace retrace::node {

struct HttpRequest {
    std::string method;  ///< "GET", "PUT", …
    std::string target;  ///< Path and query as sent, not decoded; starts with '/'.
    Bytes body;
    std::string content_type = "application/octet-stream";  ///< Sent by clients; servers do not read it.
    std::string authorization{};                            ///< Value of the header; empty: there is none.
    std::string if_none_match{};                            ///< Value of the header, read by servers.
    bool foreign = false;  ///< A script of an origin that is not allowed sent it; set by the JSON-RPC server.
};
struct HttpReply {
    unsigned status = 200;
    std::string content_type = "application/octet-stream";
    Bytes body;
    std::vector<std::pair<std::string, std::string>> headers{};  ///< More of them, by name; sent by servers.
};

/// Runs on a worker thread and may read files and compute. An exception becomes status 500.
using HttpHandler = std::function<HttpReply(const HttpRequest&)>;

struct HttpRoute {
    /// "/health" matches only this path, with any query; "/artifact/" matches all paths below it.
    std::string path;
    std::size_t body_max = 0;  ///< Larger bodies get status 413.
    HttpHandler handler;
};

}  // namespace retrace::node
