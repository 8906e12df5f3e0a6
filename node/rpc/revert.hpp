// SPDX-License-Identifier: MIT
#pragma once

#include "merkle/base/bytes.hpp"
#include "node/rpc/error.hpp"

namespace retrace::node::rpc {

/// The string of Solidity's Error(string); nullopt for custom errors, panics and anything malformed.
std::optional<std::string> revert_string(View output);

/// Code 3 with the revert data. The message carries a reason only when the data is Error(string): clients
/// decode custom errors from the data themselves.
RpcError reverted(View output);

}  // namespace retrace::node::rpc
