// SPDX-License-Identifier: MIT
#include "node/artifacts/route.hpp"

namespace retrace::node {

rpc::HttpRoute artifact_route(ArtifactServer& server) {
    return {"/artifact/", wire::kMessageBytesMax, [&server](const rpc::HttpRequest& request) {
                const HttpReply reply = server.handle({request.method, request.target, to_bytes(view(request.body))});
                return rpc::HttpResponse{
                    reply.status, reply.content_type, {}, std::string(reply.body.begin(), reply.body.end())};
            }};
}

}  // namespace retrace::node
