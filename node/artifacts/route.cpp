// SPDX-License-Identifier: MIT
#include "node/artifacts/route.hpp"

namespace retrace::node {

HttpRoute artifact_route(ArtifactServer& server) {
    return {"/artifact/", wire::kMessageBytesMax,
            [&server](const HttpRequest& request) { return server.handle(request); }};
}

}  // namespace retrace::node
