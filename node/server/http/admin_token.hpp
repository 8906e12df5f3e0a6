// SPDX-License-Identifier: MIT
// The bearer token that administrative methods ask for.
#pragma once

#include <string>
#include <string_view>

#include "merkle/base/result.hpp"

namespace retrace::node::rpc {

/// The token in `path`: 64 hex digits of random bytes. Made at the first call, readable by its owner alone; a
/// file that others may read, or that holds something else, is an Error.
Result<std::string> load_admin_token(const std::string& path);

/// Whether an Authorization header carries the token. Takes the same time for every wrong one.
bool shows_token(std::string_view authorization, std::string_view token);

}  // namespace retrace::node::rpc
