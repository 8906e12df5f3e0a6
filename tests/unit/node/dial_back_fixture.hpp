// SPDX-License-Identifier: MIT
// What a connection back finds, and how soon it ends in tests.
#pragma once

#include "node/artifacts/http_server.hpp"
#include "node/server/dial_back.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node::test {

inline DialBack::Options quick() {
    DialBack::Options out;
    out.attempt = std::chrono::milliseconds(500);
    out.told = std::chrono::milliseconds(600);
    out.pause = std::chrono::milliseconds(300);
    return out;
}

/// The port of an agent.
struct AgentPort {
    TemporaryFolder folder;
    std::unique_ptr<Store> store = open_store(folder.path() / "store");
    ArtifactServer server{*store, [](const Hash32&) { return false; }};
    std::unique_ptr<ArtifactHttpServer> http;
    explicit AgentPort(const ArtifactHttpServer::Options& options = {}) {
        server.answer_party([](std::string_view) { return std::string(); });
        http = std::move(ArtifactHttpServer::start(server, options)).value();
    }
};

}  // namespace retrace::node::test
