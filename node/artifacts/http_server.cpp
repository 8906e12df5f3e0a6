// SPDX-License-Identifier: MIT
#include "node/artifacts/http_server.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "node/net/http_head.hpp"

namespace retrace::node {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Body = http::vector_body<std::uint8_t>;

constexpr std::uint32_t kHeaderBytesMax = 8 << 10;
constexpr std::size_t kBufferMax = 64 << 10;  ///< Limit on received bytes that are not parsed yet, such as chunk heads.
constexpr std::size_t kLingerBytesMax = 8 << 20;
constexpr std::chrono::seconds kLingerTime{2};
constexpr std::chrono::milliseconds kPause{50};  ///< Pause before the next accept after one has failed.

class Session;

/// Handles one request of each address at a time. An expensive request, such as reading and hashing a whole tensor for
/// one tile, then occupies one thread and not all of them.
class AddressQueue {
public:
    /// Whether the session may be handled now; otherwise `end` returns it when its turn has come.
    bool begin(const std::string& address, std::shared_ptr<Session> session) {
        const std::lock_guard lock(mutex_);
        const auto [line, is_new] = lines_.try_emplace(address);
        if (!is_new) line->second.push_back(std::move(session));
        return is_new;
    }
    /// Returns the next waiting session of the address, if any.
    std::shared_ptr<Session> end(const std::string& address) {
        const std::lock_guard lock(mutex_);
        const auto line = lines_.find(address);
        if (line == lines_.end()) return nullptr;
        if (line->second.empty()) {
            lines_.erase(line);
            return nullptr;
        }
        auto next = std::move(line->second.front());
        line->second.pop_front();
        return next;
    }
    /// Drops all waiting sessions.
    void clear() {
        const std::lock_guard lock(mutex_);
        lines_.clear();
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::deque<std::shared_ptr<Session>>> lines_;  ///< Sessions that wait, by busy address.
};

/// The open connections, and which of them wait for a request.
class Room {
public:
    explicit Room(const ArtifactHttpServer::Options& options) : options_(options) {}

    /// Whether one more connection fits, and the session that must leave for it.
    struct Place {
        bool free = false;
        std::shared_ptr<Session> leaves;
    };
    Place make_place(const std::string& address);
    void enter(const std::shared_ptr<Session>& session, const std::string& address);
    void leave(const Session* session);
    void waits(const Session* session, bool waits);

private:
    using Clock = std::chrono::steady_clock;
    struct Entry {
        std::weak_ptr<Session> session;
        std::string address;
        std::optional<Clock::time_point> waits_since;
    };
    const ArtifactHttpServer::Options& options_;
    std::mutex mutex_;
    std::map<const Session*, Entry> guests_;
};

/// One connection; lives as long as one of its operations is pending. Its handlers run on its strand.
class Session : public std::enable_shared_from_this<Session> {
public:
    Session(tcp::socket socket, std::string address, ArtifactServer& server, const ArtifactHttpServer::Options& options,
            Room& room, AddressQueue& turns)
        : stream_(std::move(socket)),
          address_(std::move(address)),
          server_(server),
          options_(options),
          room_(room),
          turns_(turns) {}
    ~Session() { room_.leave(this); }

    void start() {
        asio::post(stream_.get_executor(), [self = shared_from_this()] { self->read_header(); });
    }
    /// Handles the request when its turn has come. Callable from any thread.
    void resume() {
        asio::post(stream_.get_executor(), [self = shared_from_this()] { self->handle(); });
    }
    /// Closes the connection in favour of another. Callable from any thread.
    void give_way() {
        asio::post(stream_.get_executor(), [self = shared_from_this()] { self->stream_.close(); });
    }

private:
    /// Holds the address's turn; the destructor passes it to the next session.
    class Turn {
    public:
        explicit Turn(Session& session) : session_(session) {}
        ~Turn() {
            while (const auto next = session_.turns_.end(session_.address_)) {
                try {
                    next->resume();
                    return;
                } catch (const std::exception&) {  // Out of memory: that connection ends, and the next one is tried.
                }
            }
        }
        Turn(const Turn&) = delete;

    private:
        Session& session_;
    };

    void read_header() {
        buffer_.shrink_to_fit();
        room_.waits(this, true);
        parser_.emplace();
        parser_->header_limit(kHeaderBytesMax);
        parser_->body_limit(boost::none);  // Set in read_body, once the path is known; no body is read before.
        stream_.expires_after(served_ ? options_.idle : std::min(options_.head, options_.idle));
        http::async_read_header(stream_, buffer_, *parser_,
                                beast::bind_front_handler(&Session::read_body, shared_from_this()));
    }

    void read_body(beast::error_code code, std::size_t) {
        if (code) return;
        room_.waits(this, false);
        served_ = true;
        const auto& head = parser_->get();
        if (const auto fault = fault_of_head(head, to_view(head.target()), head.version(), options_.hosts)) {
            const Fault reason = *fault == HeadFault::host_not_listed ? Fault::not_wanted : Fault::malformed;
            return write(refusal({reason, std::string(text_of(*fault))}), false);
        }
        const std::size_t limit = server_.body_limit(to_view(head.method_string()), to_view(head.target()));
        const bool announced = parser_->content_length() && *parser_->content_length() > 0;
        if ((announced && *parser_->content_length() > limit) || (parser_->chunked() && limit == 0)) {
            // The body stays unread, so the connection cannot be used for another request.
            const Failure reason = limit == 0 ? Failure{Fault::not_wanted, "this upload is not wanted"}
                                              : Failure{Fault::too_large, "the body is over the limit"};
            return write(refusal(reason), false);
        }
        parser_->body_limit(limit);
        stream_.expires_after(options_.exchange);
        http::async_read(stream_, buffer_, *parser_, beast::bind_front_handler(&Session::answer, shared_from_this()));
    }

    void answer(beast::error_code code, std::size_t) {
        if (code == http::error::body_limit) {
            return write(refusal({Fault::too_large, "the body is over the limit"}), false);
        }
        if (code) return;
        if (turns_.begin(address_, shared_from_this())) handle();
    }

    void handle() {
        bool keep_alive = false;
        HttpReply reply;
        {
            const Turn turn(*this);
            try {
                auto message = parser_->release();
                keep_alive = message.keep_alive();
                reply = server_.handle(
                    {std::string(message.method_string()), std::string(message.target()), std::move(message.body())});
            } catch (const std::exception& failed) {  // Out of memory ends the request, not the process.
                reply = refusal({Fault::io, failed.what()});
            }
        }
        write(std::move(reply), keep_alive);
    }

    void write(HttpReply reply, bool keep_alive) {
        reply_ = {};
        reply_.version(11);
        reply_.result(reply.status);
        reply_.set(http::field::content_type, reply.content_type);
        reply_.keep_alive(keep_alive);
        reply_.body() = std::move(reply.body);
        reply_.prepare_payload();
        stream_.expires_after(options_.exchange);
        http::async_write(stream_, reply_,
                          [self = shared_from_this(), keep_alive](beast::error_code code, std::size_t) {
                              if (code) return;
                              keep_alive ? self->read_header() : self->close();
                          });
    }

    /// Shuts down our side, then reads what the peer still sends for a moment: closing with unread bytes would reset
    /// the connection, and the peer would lose the refusal.
    void close() {
        beast::error_code ignored;
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        stream_.expires_after(kLingerTime);
        linger();
    }

    void linger() {
        buffer_.clear();
        stream_.async_read_some(buffer_.prepare(kHeaderBytesMax),
                                [self = shared_from_this()](beast::error_code code, std::size_t size) {
                                    self->lingered_ += size;
                                    if (!code && self->lingered_ < kLingerBytesMax) self->linger();
                                });
    }

    static std::string_view to_view(beast::string_view text) { return {text.data(), text.size()}; }

    beast::tcp_stream stream_;
    const std::string address_;
    ArtifactServer& server_;
    const ArtifactHttpServer::Options& options_;
    Room& room_;
    AddressQueue& turns_;
    bool served_ = false;
    beast::flat_buffer buffer_{kBufferMax};
    std::optional<http::request_parser<Body>> parser_;
    http::response<Body> reply_;
    std::size_t lingered_ = 0;
};

Room::Place Room::make_place(const std::string& address) {
    const std::lock_guard lock(mutex_);
    const auto is_of_address = [&](const auto& guest) { return guest.second.address == address; };
    const bool crowded = static_cast<std::size_t>(std::count_if(guests_.begin(), guests_.end(), is_of_address)) >=
                         options_.connections_per_address;
    if (!crowded && guests_.size() < options_.connections) return {true, nullptr};
    auto longest = guests_.end();
    for (auto it = guests_.begin(); it != guests_.end(); ++it) {
        if (!it->second.waits_since || (crowded && !is_of_address(*it))) continue;
        if (longest == guests_.end() || *it->second.waits_since < *longest->second.waits_since) longest = it;
    }
    if (longest == guests_.end()) return {};
    Place out{true, longest->second.session.lock()};
    guests_.erase(longest);  // Erased now, so that the next newcomer replaces another session.
    return out;
}

void Room::enter(const std::shared_ptr<Session>& session, const std::string& address) {
    const std::lock_guard lock(mutex_);
    guests_[session.get()] = {session, address, Clock::now()};
}

void Room::leave(const Session* session) {
    const std::lock_guard lock(mutex_);
    guests_.erase(session);
}

void Room::waits(const Session* session, bool waits) {
    const std::lock_guard lock(mutex_);
    const auto found = guests_.find(session);
    if (found == guests_.end()) return;
    found->second.waits_since = waits ? std::optional(Clock::now()) : std::nullopt;
}

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
        const std::string address = address_of(socket);
        const Room::Place place = room.make_place(address);
        if (!place.free) return;
        if (place.leaves) place.leaves->give_way();
        beast::error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        const auto session = std::make_shared<Session>(std::move(socket), address, server, options, room, turns);
        room.enter(session, address);
        session->start();
    }

    ArtifactServer& server;
    Options options;
    Room room{options};  ///< Declared before the context, whose destruction ends the last sessions.
    AddressQueue turns;
    asio::io_context context;
    tcp::acceptor acceptor{context};
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
    if (code) return failure(Fault::io, "cannot serve artifacts on " + where + ": " + code.message());
    impl->accept();
    for (unsigned i = 0; i < std::max(options.threads, 1u); ++i)
        impl->threads.emplace_back([impl = impl.get()] { impl->run(); });
    return std::unique_ptr<ArtifactHttpServer>(new ArtifactHttpServer(std::move(impl)));
}

ArtifactHttpServer::~ArtifactHttpServer() {
    impl_->context.stop();
    for (std::thread& thread : impl_->threads) thread.join();
    impl_->turns.clear();  // Their sockets belong to the context.
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
