// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "node/artifacts/server.hpp"

namespace retrace::node {

/// A small HTTP server for processes without a node: it serves an ArtifactServer on threads of its own. When an
/// address, or the server, has as many connections as it may, the one that has waited longest for a request leaves for
/// the newcomer: connections that ask for nothing keep nobody out.
class ArtifactHttpServer {
public:
    struct Options {
        std::string address = "127.0.0.1";
        std::uint16_t port = 0;             ///< 0: the system chooses.
        std::size_t connections = 256;      ///< At once.
        std::size_t connections_per_address = 32;  ///< Of them; of IPv6 a network of 64 bits is one address.
        std::vector<std::string> hosts;     ///< That a request may name, see node/net/http_head.hpp; empty: any.
        unsigned threads = 4;
        std::chrono::seconds head{10};      ///< For the first request's head.
        std::chrono::seconds idle{60};      ///< Between requests of one connection.
        std::chrono::seconds exchange{30};  ///< For a whole request or reply, however it drips in.
    };

    /// `server` outlives this. io when the port is taken.
    static Result<std::unique_ptr<ArtifactHttpServer>, Failure> start(ArtifactServer& server,
                                                                      const Options& options);
    ~ArtifactHttpServer();

    std::uint16_t port() const noexcept;
    /// "http://address:port"
    std::string url() const;

private:
    struct Impl;
    explicit ArtifactHttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node
