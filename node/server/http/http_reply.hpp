// SPDX-License-Identifier: MIT
// Helpers that build HTTP responses.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>
#include <string_view>

#include "node/server/http/server_parts.hpp"

namespace retrace::node::rpc {

using ReplyMessage = http::response<http::string_body>;

inline std::string_view text(beast::string_view v) { return {v.data(), v.size()}; }
/// Makes a response with the HTTP version and the keep-alive of the request.
ReplyMessage make_reply(const HttpMessage& request, unsigned status, std::string_view type, std::string body);
/// Adds the CORS headers if pages of the request's origin may read the answer.
void add_cors(const Shared& shared, const HttpMessage& request, ReplyMessage& reply);

}  // namespace retrace::node::rpc
