// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "node/artifacts/server.hpp"

namespace retrace::node {

/// A small HTTP server for processes without a node: it serves an ArtifactServer on its own threads. Neither idle nor
/// busy connections keep others out: a full server gives up a connection of the address that holds most
/// (node/net/connection_table.hpp), a reply must be taken at a minimum rate, and an address waits while its own replies
/// hold much (request_queue.hpp). Messages of rounds are sent before states (uplink.hpp).
class ArtifactHttpServer {
public:
    struct Options {
        std::string address = "127.0.0.1";
        std::uint16_t port = 0;                    ///< 0: the operating system chooses.
        std::size_t connections = 256;             ///< Maximum number of open connections.
        std::size_t connections_per_address = 32;  ///< Limit for one address; an IPv6 /64 network counts as one.
        std::vector<std::string> hosts{};  ///< Hosts that a request may name, see node/net/http_head.hpp; empty: any.
        bool any_page = true;  ///< Whether pages of all origins may read artifacts (CORS), else only of this machine.
        unsigned threads = 4;
        std::chrono::seconds head{10};      ///< Timeout of the first request's head.
        std::chrono::seconds idle{60};      ///< Timeout between requests of one connection.
        std::chrono::seconds exchange{30};  ///< Timeout of a whole request, however slowly it arrives.
        /// Bytes of a reply that a peer must take each second, after the grace. Our own client gives a server up below
        /// a mebibyte each second, so an honest peer is faster.
        std::uint64_t drain_rate = 64 << 10;
        /// The same for tiles, hashes and programs, which share a slow link with messages and with each other: seven
        /// auditors of a member on a link of a megabit are a little faster.
        std::uint64_t bulk_drain_rate = 16 << 10;
        std::chrono::milliseconds drain_grace{5000};
        /// Limit in bytes on the unsent replies of one address; beyond it the next request of the address waits.
        std::size_t reply_bytes_per_address = 16 << 20;
        /// The same for all addresses; beyond it the address that holds most loses a reply.
        std::size_t reply_bytes = 256 << 20;
    };

    /// `server` outlives this. io when the port is taken.
    static Result<std::unique_ptr<ArtifactHttpServer>, Failure> start(ArtifactServer& server, const Options& options);
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
