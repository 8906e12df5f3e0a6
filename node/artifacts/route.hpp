// SPDX-License-Identifier: MIT
#pragma once

#include "node/artifacts/server.hpp"
#include "node/rpc/http.hpp"

namespace retrace::node {

/// The artifact paths on the node's own port. `server` outlives the route. Programs over 4 MiB cannot be
/// uploaded this way: the port reads a whole body before it asks anybody.
rpc::HttpRoute artifact_route(ArtifactServer& server);

}  // namespace retrace::node
