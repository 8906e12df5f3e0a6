// SPDX-License-Identifier: MIT
#pragma once

#include "node/server/dial_back.hpp"
#include "node/server/jsonrpc/router.hpp"

namespace retrace::node {

/// Which callers are dialled. Behind a hop of TCP (a container's gateway, a load balancer) all callers have its address,
/// which is private: its ports would be told to strangers.
enum class DialBackScope : std::uint8_t {
    open,      ///< Addresses that the Internet knows.
    all,       ///< Also those of private networks.
    also_own,  ///< Also this machine's. For tests alone: behind a proxy on this machine every caller has one.
};

/// Adds retrace_dialBack, by which the operator of an agent learns whether this node reaches the agent's port. Only the
/// address that the call comes from is dialled. `dial_back` outlives the router.
void register_dial_back(rpc::Router& router, DialBack& dial_back, DialBackScope scope = DialBackScope::open);

}  // namespace retrace::node
