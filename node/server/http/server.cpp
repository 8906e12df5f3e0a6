// SPDX-License-Identifier: MIT
#include "node/server/http/server.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "node/net/http_head.hpp"
#include "node/server/http/server_parts.hpp"

namespace retrace::node::rpc {

using net::ip::tcp;

ConnectionPlace::~ConnectionPlace() {
    if (shared_ != nullptr) shared_->leave(id_);
}

Reservation::~Reservation() { set(0); }

void Reservation::set(std::size_t bytes) {
    const std::size_t before = std::exchange(bytes_, bytes);
    if (bytes < before) {
        (shared_.*quota_).remove(id_, client_, before - bytes);
        shared_.trim.freed(before - bytes);
    }
    if (bytes > before) {
        for (const MemoryQuota::Connection id : (shared_.*quota_).add(id_, client_, bytes - before))
            shared_.cut_off(id);
    }
}

std::optional<ConnectionPlace> Shared::enter(const std::string& client) {
    std::optional<ConnectionPlace> place;
    std::shared_ptr<Connection> evicted;
    {
        const std::lock_guard lock(mutex);
        const bool crowded = !client.empty() && table.count(client) >= options.connections_per_address;
        const std::uint64_t id = next_connection++;
        const auto found =
            crowded ? ConnectionTable::Place{} : table.enter(id, client, std::chrono::steady_clock::now());
        if (!found.free || found.evicted) ++refused;
        if (!found.free) return std::nullopt;
        place.emplace(*this, id);
        if (found.evicted) {
            const auto here = connections.find(*found.evicted);
            if (here != connections.end()) {
                evicted = here->second.lock();
                connections.erase(here);
            }
        }
    }
    if (evicted) evicted->close();
    return place;
}

void Shared::leave(std::uint64_t id) noexcept {
    const std::lock_guard lock(mutex);
    table.leave(id);
    connections.erase(id);
}

bool Shared::add(const std::shared_ptr<Connection>& connection) {
    const std::lock_guard lock(mutex);
    if (!table.contains(connection->id)) return false;
    connections[connection->id] = connection;
    return true;
}

void Shared::begin_wait(std::uint64_t id) noexcept {
    const std::lock_guard lock(mutex);
    table.begin_wait(id, std::chrono::steady_clock::now());
}

void Shared::begin_request(std::uint64_t id) noexcept {
    const std::lock_guard lock(mutex);
    table.begin_request(id, std::chrono::steady_clock::now());
}

bool Shared::is_busy(std::uint64_t id) const noexcept {
    const std::lock_guard lock(mutex);
    return table.is_busy(id);
}

std::vector<std::shared_ptr<Connection>> Shared::open_connections() const {
    std::vector<std::shared_ptr<Connection>> out;
    const std::lock_guard lock(mutex);
    for (const auto& [id, weak] : connections) {
        if (auto connection = weak.lock()) out.push_back(std::move(connection));
    }
    return out;
}

void Shared::cut_off(std::uint64_t id) {
    std::shared_ptr<Connection> connection;
    {
        const std::lock_guard lock(mutex);
        const auto found = connections.find(id);
        if (found == connections.end()) return;  // it is already closing
        connection = found->second.lock();
        ++refused;
    }
    if (!connection) return;
    spdlog::warn("event=client_holds_too_much websocket={}", connection->is_websocket());
    connection->close();
}

void Shared::count_refused() {
    const std::lock_guard lock(mutex);
    ++refused;
}

std::string Shared::client_of(const tcp::endpoint& peer) const {
    net::ip::address address = peer.address();
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        address = net::ip::make_address_v4(net::ip::v4_mapped, address.to_v6());
    }
    if (address.is_loopback() && !options.limit_loopback) return {};
    if (address.is_v4()) return address.to_string();
    // A client usually has a whole /64 network and could use any address in it.
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    return net::ip::make_address_v6(bytes).to_string();
}

const HttpRoute* Shared::route_of(std::string_view target) const {
    const HttpRoute* best = nullptr;
    const std::string_view path = target.substr(0, target.find('?'));
    for (const HttpRoute& route : routes) {
        if (route.path.ends_with('/') ? !path.starts_with(route.path) : path != route.path) continue;
        if (best == nullptr || route.path.size() > best->path.size()) best = &route;
    }
    return best;
}

namespace {

/// Whether an origin matches an entry; "http://localhost:*" matches that host with any port or none.
bool fits(std::string_view origin, std::string_view allowed) {
    if (!allowed.ends_with(":*")) return allowed == "*" || allowed == origin;
    allowed.remove_suffix(2);
    if (!origin.starts_with(allowed)) return false;
    const std::string_view port = origin.substr(allowed.size());
    return port.empty() || (port.front() == ':' && port.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

/// Whether the origin is a browser extension (e.g. MetaMask): no web page can send such an origin, and the user granted
/// the extension its permissions.
bool is_extension(std::string_view origin) {
    return origin.starts_with("chrome-extension://") || origin.starts_with("moz-extension://") ||
           origin.starts_with("safari-web-extension://");
}

/// The host and port of an origin: "a.example:1" for "https://a.example:1".
std::string_view authority_of(std::string_view origin) {
    const auto at = origin.find("://");
    return at == std::string_view::npos ? std::string_view() : origin.substr(at + 3);
}

/// Whether a host is "localhost" or an IP address that means one machine everywhere or this machine: nobody's DNS can
/// point it elsewhere. An address of a private network means another machine in each network.
bool is_unambiguous(std::string_view host) {
    if (host == "localhost") return true;
    boost::system::error_code malformed;
    net::ip::address address = net::ip::make_address(host, malformed);
    if (malformed) return false;
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        address = net::ip::make_address_v4(net::ip::v4_mapped, address.to_v6());
    if (address.is_loopback()) return true;
    if (address.is_unspecified()) return false;
    if (address.is_v6()) return !address.to_v6().is_link_local() && (address.to_v6().to_bytes()[0] & 0xfe) != 0xfc;
    const auto inside = [bytes = address.to_v4()](const char* network) {
        const auto range = net::ip::make_network_v4(network);
        return net::ip::network_v4(bytes, range.prefix_length()).network() == range.network();
    };
    return !inside("10.0.0.0/8") && !inside("100.64.0.0/10") && !inside("169.254.0.0/16") && !inside("172.16.0.0/12") &&
           !inside("192.168.0.0/16");
}

}  // namespace

bool Shared::origin_allowed(std::string_view origin) const {
    return std::any_of(options.cors_origins.begin(), options.cors_origins.end(),
                       [origin](const std::string& allowed) { return fits(origin, allowed); });
}

bool Shared::is_foreign(const HttpMessage& request) const {
    const auto field = [&](http::field name) -> std::string_view {
        const auto value = request[name];
        return {value.data(), value.size()};
    };
    const std::string_view origin = field(http::field::origin);
    if (origin.empty() || is_extension(origin) || origin_allowed(origin)) return false;
    return !is_own(origin, field(http::field::host));
}

bool Shared::is_own(std::string_view origin, std::string_view host) const {
    const auto name = host_of(host);
    if (!name || authority_of(origin) != host) return false;
    const bool secure = origin.starts_with("https://");
    if (!secure && (options.tls || !origin.starts_with("http://"))) return false;
    // "*" names no host: any page could call itself anything then (DNS rebinding).
    const bool listed = *name == options.host || std::ranges::any_of(options.hosts, [&](const std::string& allowed) {
        return allowed != "*" && host_allowed(*name, {allowed});
    });
    // A proxy in front of a port without TLS may have TLS; it then has a listed name.
    return listed || (secure == options.tls.has_value() && is_unambiguous(*name));
}

namespace {

/// Runs the I/O loop. Handlers catch their own exceptions; one that escapes nevertheless must not end the node.
void run(net::io_context& io) {
    for (;;) {
        try {
            io.run();
            return;
        } catch (const std::exception& e) {
            spdlog::error("event=server_bug what=\"{}\"", e.what());
        }
    }
}

}  // namespace

struct Server::Impl {
    std::unique_ptr<Shared> shared;
    std::vector<std::thread> threads;
    std::unique_ptr<tcp::acceptor> acceptor;
    bool stopped = false;

    /// Waits up to 500 ms for running HTTP requests to be answered, including the one that requested the stop.
    void finish_answers() const noexcept {
        const auto last = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
        const auto is_served = [this](const auto& connection) {
            return !connection->is_websocket() && shared->is_busy(connection->id);
        };
        while (std::ranges::any_of(shared->open_connections(), is_served) && std::chrono::steady_clock::now() < last)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    net::awaitable<void> trim_for_ever() {
        net::steady_timer pause(shared->io);
        for (;;) {
            pause.expires_after(std::chrono::seconds(1));
            co_await pause.async_wait(net::use_awaitable);
            if (!shared->trim.is_due(Budget::Clock::now())) continue;
            // On the deliveries' thread, where it delays only subscribers.
            shared->deliveries.add({}, [this](WorkPool::JobOutcome) { shared->trim.run(); });
        }
    }

    net::awaitable<void> accept() {
        for (;;) {
            tcp::socket socket = co_await acceptor->async_accept(net::make_strand(shared->io), net::use_awaitable);
            boost::system::error_code code;
            const tcp::endpoint peer = socket.remote_endpoint(code);
            if (code) continue;  // already disconnected
            const std::string client = shared->client_of(peer);
            std::optional<ConnectionPlace> place = shared->enter(client);
            if (!place) continue;
            socket.set_option(tcp::no_delay(true), code);
            const auto executor = socket.get_executor();
            tls::Stream stream(beast::tcp_stream(std::move(socket)), shared->tls.get());
            net::co_spawn(executor, serve_http(*shared, std::move(stream), client, std::move(*place)), net::detached);
        }
    }

    /// Retries an accept that failed, e.g. for lack of file descriptors, so that the listener survives.
    net::awaitable<void> accept_for_ever() {
        net::steady_timer pause(shared->io);
        while (acceptor->is_open()) {
            try {
                co_await accept();
            } catch (const boost::system::system_error& e) {
                if (e.code() == net::error::operation_aborted) co_return;
                spdlog::warn("event=accept_failed what=\"{}\"", e.what());
            } catch (const std::exception& e) {  // e.g. no memory; other connections go on
                spdlog::error("event=accept_failed what=\"{}\"", e.what());
            }
            pause.expires_after(std::chrono::milliseconds(50));
            co_await pause.async_wait(net::use_awaitable);
        }
    }
};

Server::Server(ServerOptions options, const Dispatcher& dispatcher) : impl_(std::make_unique<Impl>()) {
    impl_->shared = std::make_unique<Shared>(std::move(options), dispatcher);
}

Server::~Server() { stop(); }

void Server::route(HttpRoute route) { impl_->shared->routes.push_back(std::move(route)); }

void Server::page(HttpHandler handler) { impl_->shared->page = HttpRoute{"/", 0, std::move(handler)}; }

Result<std::uint16_t> Server::bind() {
    Shared& shared = *impl_->shared;
    if (shared.options.tls) {
        RETRACE_TRY(context, tls::server_context(*shared.options.tls));
        shared.tls = std::move(context);
    }
    const std::string where = shared.options.host + ":" + std::to_string(shared.options.port);
    try {
        const tcp::endpoint endpoint(net::ip::make_address(shared.options.host), shared.options.port);
        impl_->acceptor = std::make_unique<tcp::acceptor>(shared.io, endpoint, true);
    } catch (const boost::system::system_error& e) {
        if (e.code() == net::error::address_in_use) {
            return error("port in use: " + where + " is taken by another process; choose another " +
                         shared.options.port_flag);
        }
        return error("cannot listen on " + where + ": " + e.code().message());
    }
    return impl_->acceptor->local_endpoint().port();
}

void Server::serve() {
    Shared& shared = *impl_->shared;
    shared.workers.start();
    shared.handlers.start();
    shared.deliveries.start();
    net::co_spawn(shared.io, impl_->accept_for_ever(), net::detached);
    net::co_spawn(shared.io, impl_->trim_for_ever(), net::detached);
    for (unsigned i = 0; i < shared.options.threads; ++i) {
        impl_->threads.emplace_back([&shared] { run(shared.io); });
    }
}

void Server::stop() noexcept {
    if (impl_->stopped) return;
    impl_->stopped = true;
    Shared& shared = *impl_->shared;
    shared.stopping = true;  // aborts the running requests
    impl_->finish_answers();
    shared.io.stop();
    for (std::thread& thread : impl_->threads) thread.join();
    shared.handlers.stop();
    shared.deliveries.stop();
    shared.workers.stop();
    impl_->acceptor.reset();
}

void Server::publish(const std::shared_ptr<const ledger::Block>& block) {
    const auto event = std::make_shared<Event>(block);
    for (const auto& connection : impl_->shared->open_connections()) connection->on_event(event);
}

void Server::publish(const ledger::TxPtr& pending) {
    if (impl_->shared->pending_subscriptions == 0) return;  // called thousands of times a second
    const auto event = std::make_shared<Event>(pending);
    for (const auto& connection : impl_->shared->open_connections()) connection->on_event(event);
}

ServerStats Server::stats() const {
    ServerStats out;
    for (const auto& connection : impl_->shared->open_connections()) {
        ++(connection->is_websocket() ? out.ws_connections : out.http_connections);
    }
    const std::lock_guard lock(impl_->shared->mutex);
    out.refused = impl_->shared->refused;
    return out;
}

}  // namespace retrace::node::rpc
