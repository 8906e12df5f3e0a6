// SPDX-License-Identifier: MIT
// The request and the reply of an HTTP exchange, independent of any HTTP library; used by the client and the artifact
// server.
#pragma once

#include <string>

#include "merkle/base/bytes.hpp"

namespace retrace::node {

struct HttpRequest {
    std::string method;  ///< "GET", "PUT", …
    std::string target;  ///< Path and query.
    Bytes body;
    std::string content_type = "application/octet-stream";
    std::string authorization{};  ///< Value of the header; empty: the header is not sent.
};
struct HttpReply {
    unsigned status = 200;
    std::string content_type = "application/octet-stream";
    Bytes body;
};

}  // namespace retrace::node
