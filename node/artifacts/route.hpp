// SPDX-License-Identifier: MIT
#pragma once

#include "node/artifacts/server.hpp"
#include "node/net/http_types.hpp"

namespace retrace::node {

/// The artifact paths on the node's own port. `server` outlives the route. A body has at most 4 MiB, because the port
/// reads it completely before it calls the route; longer programs are sent in pieces.
HttpRoute artifact_route(ArtifactServer& server);

}  // namespace retrace::node
