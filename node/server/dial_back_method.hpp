// SPDX-License-Identifier: MIT
#pragma once

#include "node/server/dial_back.hpp"
#include "node/server/jsonrpc/router.hpp"

namespace retrace::node {

/// Adds retrace_dialBack, by which the operator of an agent learns whether this node reaches the agent's port. Only the
/// address that the call comes from is dialled. A caller of this machine is refused, because behind a proxy on this
/// machine everybody is one, and the ports of this machine are nobody's business; `also_loopback` is for tests.
/// `dial_back` outlives the router.
void register_dial_back(rpc::Router& router, DialBack& dial_back, bool also_loopback = false);

}  // namespace retrace::node
