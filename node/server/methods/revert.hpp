// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"
#include "node/server/jsonrpc/error.hpp"

namespace retrace::node::rpc {

/// The string of Solidity's Error(string); nullopt for custom errors, panics and anything malformed.
std::optional<std::string> revert_string(View output);

/// An error with code 3 and the revert data. The message carries the string of Error(string), or the sentence of the
/// rule that refused a call of a native contract, because many programs show the message alone.
RpcError reverted(View output);
/// Same for a refusal by the node: Error(string) with `reason`, which is at most 255 ASCII characters.
RpcError reverted_with(std::string_view reason);

}  // namespace retrace::node::rpc
