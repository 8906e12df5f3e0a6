// SPDX-License-Identifier: MIT
// rpc.discover: the table of methods and the server's limits as an OpenRPC 1.2 document.
#pragma once

#include "node/server/jsonrpc/router.hpp"
#include "node/server/methods/backend.hpp"

namespace retrace::node::rpc {

/// Adds rpc.discover, which lists the methods that are registered by the time it is called.
void register_discover(Router& router, const Backend& backend);

}  // namespace retrace::node::rpc
