// SPDX-License-Identifier: MIT
#include "node/artifacts/http_server.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/error.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "node/artifacts/http_session.hpp"

namespace retrace::node {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

constexpr std::chrono::milliseconds kPause{50};  ///< Pause before the next accept after one has failed.

/// A client usually has a whole IPv6 /64 network and could use any address in it.
std::string address_of(const tcp::socket& socket) {
    beast::error_code code;
    asio::ip::address address = socket.remote_endpoint(code).address();
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    if (address.is_v4()) return address.to_string();
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
    return asio::ip::make_address_v6(bytes).to_string();
}

}  // namespace

struct ArtifactHttpServer::Impl {
    Impl(ArtifactServer& server_in, const Options& options_in) : server(server_in), options(options_in) {}

    /// A connection that cannot be accepted for lack of memory or descriptors must not end the others or the listener.
    void accept() {
        const auto welcomed = [this](beast::error_code code, tcp::socket socket) {
            if (code == asio::error::operation_aborted) return;
            try {
                if (!code) welcome(std::move(socket));
            } catch (const std::exception&) {
                code = asio::error::no_memory;
            }
            if (code) std::this_thread::sleep_for(kPause);
            accept();
        };
        for (;;) {
            try {
                return acceptor.async_accept(asio::make_strand(context), welcomed);
            } catch (const std::exception&) {
                std::this_thread::sleep_for(kPause);
            }
        }
    }

    /// An exception that escapes a connection's handlers ends only that connection.
    void run() noexcept {
        for (;;) {
            try {
                context.run();
                return;
            } catch (const std::exception&) {
            }
        }
    }

    void welcome(tcp::socket socket) {
        std::string address = address_of(socket);
        const auto session = std::make_shared<ArtifactSession>(next_id++, std::move(socket), std::move(address), server,
                                                               options, sessions, slow_threads, uplink);
        if (sessions.enter(session)) session->start();
    }

    ArtifactServer& server;
    Options options;
    ArtifactSessions sessions{options};  ///< Declared before the context, whose destruction ends the last sessions.
    Uplink uplink;                       ///< As well.
    std::atomic<ArtifactSessions::Id> next_id{1};
    asio::io_context context;
    tcp::acceptor acceptor{context};
    /// Destroyed before the context, to which the sockets of the waiting sessions belong.
    SlowRequestThreads slow_threads;
    std::vector<std::thread> threads;
};

ArtifactHttpServer::ArtifactHttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<ArtifactHttpServer>, Failure> ArtifactHttpServer::start(ArtifactServer& server,
                                                                               const Options& options) {
    auto impl = std::make_unique<Impl>(server, options);
    const std::string where = options.address + ":" + std::to_string(options.port);
    beast::error_code code;
    const auto address = asio::ip::make_address(options.address, code);
    if (code) return failure(Fault::malformed, options.address + ": not an IP address");
    const tcp::endpoint endpoint(address, options.port);
    impl->acceptor.open(endpoint.protocol(), code);
    if (!code) impl->acceptor.set_option(tcp::acceptor::reuse_address(true), code);
    if (!code) impl->acceptor.bind(endpoint, code);
    if (!code) impl->acceptor.listen(asio::socket_base::max_listen_connections, code);
    if (code) {
        const bool used = code == asio::error::address_in_use;
        return failure(Fault::io, "cannot serve artifacts on " + where + ": " + code.message() +
                                      (used ? "; stop the program that has the port (`ss -ltnp` names it), or name "
                                              "another one with --port"
                                            : "; name an address of this machine with --listen, and a port above 1023 "
                                              "with --port"));
    }
    impl->accept();
    for (unsigned i = 0; i < std::max(options.threads, 1u); ++i)
        impl->threads.emplace_back([impl = impl.get()] { impl->run(); });
    return std::unique_ptr<ArtifactHttpServer>(new ArtifactHttpServer(std::move(impl)));
}

ArtifactHttpServer::~ArtifactHttpServer() {
    impl_->context.stop();
    for (std::thread& thread : impl_->threads) thread.join();
    impl_->slow_threads.stop();
    impl_->sessions.clear();  // Their sockets belong to the context.
}

std::uint16_t ArtifactHttpServer::port() const noexcept {
    beast::error_code code;
    return impl_->acceptor.local_endpoint(code).port();
}

std::string ArtifactHttpServer::url() const {
    const bool v6 = impl_->options.address.find(':') != std::string::npos;
    return "http://" + (v6 ? "[" + impl_->options.address + "]" : impl_->options.address) + ":" +
           std::to_string(port());
}

}  // namespace retrace::node
