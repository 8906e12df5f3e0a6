// SPDX-License-Identifier: MIT
// One HTTP exchange as the client sends it and as the artifact server answers it, without any HTTP library.
#pragma once

#include <string>

#include "merkle/base/bytes.hpp"

namespace retrace::node {

struct HttpRequest {
    std::string method;  ///< "GET", "PUT", …
    std::string target;  ///< Path and query.
    Bytes body;
    std::string content_type = "application/octet-stream";
    std::string authorization{};  ///< Value of that header when a client sends it; empty: the header is not sent.
};
struct HttpReply {
    unsigned status = 200;
    std::string content_type = "application/octet-stream";
    Bytes body;
};

}  // namespace retrace::node
