// SPDX-License-Identifier: MIT
// The bearer token that administrative methods require.
#pragma once

#include <string>
#include <string_view>

#include "merkle/base/result.hpp"

namespace retrace::node::rpc {

/// Loads the token from `path`, 64 hex digits; creates it from random bytes with mode 0600 if the file is absent. A
/// file that others may read, or that has other content, is an Error.
Result<std::string> load_admin_token(const std::string& path);

/// Whether an Authorization header carries the token. Compares in constant time.
bool shows_token(std::string_view authorization, std::string_view token);

}  // namespace retrace::node::rpc
