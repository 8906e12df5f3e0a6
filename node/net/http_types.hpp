// SPDX-License-Identifier: MIT
// HTTP routes on the port of the JSON-RPC server: /health, /metrics, artifacts. No Beast in this header.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace retrace::node::rpc {

struct HttpRequest {
    std::string method;                          ///< "GET", "PUT", …
    std::string target;                          ///< Path and query as sent, not decoded; starts with '/'.
    std::map<std::string, std::string> headers;  ///< Names in lower case; the last value of a repeated name.
    std::string body;
};

struct HttpResponse {
    unsigned status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
};

/// Runs on a worker thread and may read files and compute. An exception becomes status 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpRoute {
    /// "/health" matches only this path, with any query; "/artifact/" matches all paths below it.
    std::string path;
    std::size_t body_max = 0;  ///< Larger bodies get status 413.
    HttpHandler handler;
};

}  // namespace retrace::node::rpc
