// SPDX-License-Identifier: MIT
// A WebSocket connection: reads JSON-RPC messages, writes answers and events from one bounded queue.
#include <spdlog/spdlog.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "node/net/http_head.hpp"
#include "node/server/http/admin_token.hpp"
#include "node/server/http/feed.hpp"
#include "node/server/http/server_parts.hpp"
#include "node/server/methods/filters.hpp"

namespace retrace::node::rpc {
namespace {

namespace websocket = beast::websocket;

/// Limits on a connection's event queue: number of events and their memory (shared by all connections). A connection
/// over a limit is cut off, but never because of a single event.
constexpr std::size_t kFeedMax = 16'384;
constexpr std::size_t kFeedBytes = std::size_t{128} << 20;
/// Approximate limits on the work and the time of a turn on the deliveries' thread, before the next connection's turn.
constexpr std::size_t kTurnEvents = 64;
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kTurnTime{5};
/// Most bytes read at once.
constexpr std::size_t kFrameReadBytes = std::size_t{64} << 10;

/// One outgoing message. The text of an event is shared by all its receivers.
struct Message {
    explicit Message(std::string answer) : own(std::move(answer)) {}
    Message(Text opening, Text event) : opening(std::move(opening)), event(std::move(event)) {}

    std::size_t size() const noexcept {
        return event ? opening->size() + event->size() + kEventClosing.size() : own.size();
    }
    std::array<net::const_buffer, 3> buffers() const {
        if (!event) return {net::buffer(own)};
        return {net::buffer(*opening), net::buffer(*event), net::buffer(kEventClosing.data(), kEventClosing.size())};
    }

    std::string own;
    Text opening, event;
};

/// Everything but the constructor, the Connection interface and `prepare` runs on the stream's strand.
class WsConnection final : public Connection, public std::enable_shared_from_this<WsConnection> {
public:
    WsConnection(Shared& shared, tls::Stream stream, std::string client, std::uint64_t place_id)
        : Connection(place_id),
          shared_(shared),
          ws_(std::move(stream)),
          client_(std::move(client)),
          wake_(ws_.get_executor()),
          drained_(ws_.get_executor()),
          answered_(ws_.get_executor()),
          received_(shared, &Shared::held, id, client_),
          unread_(shared, &Shared::held, id, client_),
          subscribed_(shared, &Shared::held, id, client_),
          filters_(shared, &Shared::filters, id, client_) {}

    void close() override {
        net::post(ws_.get_executor(), [self = shared_from_this()] { self->cut(); });
    }
    bool is_websocket() const noexcept override { return true; }

    void on_event(const std::shared_ptr<Event>& event) override {
        const std::lock_guard lock(feed_mutex_);
        const Feed::Added added = feed_.add(event);
        if (added == Feed::Added::too_many) {
            if (fed_up_) return;
            fed_up_ = true;
            spdlog::warn("event=slow_client waiting_events={} their_bytes={}", feed_.size(), feed_.bytes());
            close();
        }
        if (added == Feed::Added::waits && !feeding_) take_turn();
    }

    ~WsConnection() override { drop_subscriptions(); }

    /// Called once `run` has ended, when no handler uses the subscriptions any more.
    void drop_subscriptions() {
        for (const auto& [id, subscription] : subscriptions_) count(*subscription, -1);
        subscriptions_.clear();
        {
            const std::lock_guard lock(feed_mutex_);
            feed_.forget();
        }
        subscribed_.set(0);
        filters_.set(0);
    }

    net::awaitable<void> run(HttpMessage request) {
        ws_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
        ws_.read_message_max(shared_.options.body_max);
        beast::get_lowest_layer(ws_).expires_never();  // the WebSocket's own timeouts apply from here
        const auto authorization = request[http::field::authorization];
        const bool admin = shows_token({authorization.data(), authorization.size()}, shared_.options.admin_token);
        const bool proxied = came_by_proxy(request, request.version());
        co_await ws_.async_accept(request, net::use_awaitable);
        ws_.text(true);
        net::co_spawn(ws_.get_executor(), write_all(shared_from_this()), net::detached);
        while (open_) {
            co_await drained();
            if (!open_) break;
            std::string message = co_await read_message();
            const auto changes = std::make_shared<Changes>(shared_from_this());
            Completion completion{beast::get_lowest_layer(ws_), answered_, admin ? std::string() : client_};
            RequestContext context{changes, std::move(completion), changes.get(), admin, proxied};
            std::string answer = co_await answer_call(shared_, std::move(context), std::move(message));
            received_.set(0);
            push(Message(std::move(answer)));
            apply(*changes);  // after the answer, which tells the client the subscription's id
        }
    }

    /// Ends both directions at once.
    void cut() {
        open_ = false;
        outbox_.clear();
        unread_.set(0);
        wake_.cancel();
        drained_.cancel();
        beast::get_lowest_layer(ws_).close();
        answered_.cancel();
    }

private:
    using Table = std::map<std::string, std::shared_ptr<const Subscribed>>;
    /// Prepared messages, each with the id of its subscription.
    using Prepared = std::vector<std::pair<std::string, Message>>;

    /// Changes of the subscriptions by one message. A handler collects them while the strand uses the table itself,
    /// which is not changed until the message was answered.
    class Changes final : public Subscriptions {
    public:
        explicit Changes(std::shared_ptr<WsConnection> connection) : connection_(std::move(connection)) {}
        std::string add(Subscription subscription) override {
            const rpc::ServerOptions& options = connection_->shared_.options;
            const std::size_t held = connection_->subscriptions_.size() + added.size() - removed.size();
            is_large_ = false;
            if (held >= options.subscriptions) return {};
            std::string id = random_id();
            auto subscribed = std::make_shared<const Subscribed>(id, std::move(subscription));
            is_large_ = connection_->subscribed_.bytes() + bytes + subscribed->bytes > options.filters.connection;
            if (is_large_) return {};
            bytes += subscribed->bytes;
            added[id] = std::move(subscribed);
            return id;
        }
        const char* refusal() const override {
            return is_large_ ? "too many addresses and topics in the subscriptions of this connection"
                             : Subscriptions::refusal();
        }
        bool remove(const std::string& id) override {
            if (const auto here = added.find(id); here != added.end()) {
                bytes -= here->second->bytes;
                added.erase(here);
                return true;
            }
            return connection_->subscriptions_.contains(id) && removed.insert(id).second;
        }
        Table added;
        std::size_t bytes = 0;  // of `added`
        std::set<std::string> removed;

    private:
        const std::shared_ptr<WsConnection> connection_;
        bool is_large_ = false;
    };

    void apply(Changes& changes) {
        if (!open_ || (changes.removed.empty() && changes.added.empty())) return;
        std::size_t bytes = subscribed_.bytes() + changes.bytes;
        for (const std::string& id : changes.removed) {
            const auto found = subscriptions_.find(id);
            bytes -= found->second->bytes;
            count(*found->second, -1);
            subscriptions_.erase(found);
        }
        for (auto& [id, subscription] : changes.added) {
            count(*subscription, 1);
            subscriptions_.emplace(id, std::move(subscription));
        }
        subscribed_.set(bytes);
        filters_.set(bytes);
        const std::lock_guard lock(feed_mutex_);
        feed_.subscribe(subscriptions_);
    }
    void count(const Subscribed& subscription, int change) {
        if (subscription.what.kind == Subscription::Kind::pending_txs) shared_.pending_subscriptions += change;
    }

    /// Called with the mutex held. A turn starts only after the strand has taken the messages of the previous one, so a
    /// connection that consumes slowly uses little of the deliveries' thread.
    void take_turn() {
        feeding_ = 0 != shared_.deliveries.add(client_, [self = shared_from_this()](WorkPool::JobOutcome) mutable {
            WsConnection& connection = *self;
            connection.prepare(std::move(self));
        });
    }

    /// Runs on the deliveries' thread. `self` is passed on to the strand with the messages, so this thread never drops
    /// the last reference.
    void prepare(std::shared_ptr<WsConnection> self) {
        Prepared prepared;
        bool failed = false;
        try {
            std::size_t bytes = 0;
            const auto end = std::chrono::steady_clock::now() + kTurnTime;
            for (std::size_t i = 0; i < kTurnEvents && bytes < kTurnBytes; ++i) {
                if (i > 0 && std::chrono::steady_clock::now() >= end) break;
                const std::optional<Feed::Next> next = take_fed();
                if (!next) break;
                for (const auto& entry : *next->table) {  // clang 14 captures no binding
                    if (!next->is_for(entry.second)) continue;
                    const Subscribed& subscribed = *entry.second.subscribed;
                    next->event->notify(subscribed, [&](const Text& text) {
                        prepared.emplace_back(entry.first, Message(subscribed.opening, text));
                        bytes += prepared.back().second.size();
                        return bytes <= shared_.options.held.unread;  // a connection with more is cut off anyway
                    });
                }
            }
        } catch (const std::exception& e) {
            // An exception of an event (e.g. no memory) ends only this connection.
            spdlog::error("event=push_failed what=\"{}\"", e.what());
            failed = true;
        }
        const auto executor = ws_.get_executor();
        net::post(executor, [self = std::move(self), prepared = std::move(prepared), failed]() mutable {
            self->guarded([&] { self->deliver(std::move(prepared), failed); });
        });
    }
    std::optional<Feed::Next> take_fed() {
        const std::lock_guard lock(feed_mutex_);
        return feed_.take();
    }

    void deliver(Prepared prepared, bool failed) {
        if (failed) cut();
        for (auto& [id, message] : prepared) {
            if (subscriptions_.contains(id)) push(std::move(message));
        }
        const std::lock_guard lock(feed_mutex_);
        if (!open_) feed_.clear();
        feeding_ = false;
        if (!feed_.empty()) take_turn();
    }

    /// Reads a message into a buffer of its own, so that the memory of a large message is not kept for the next.
    net::awaitable<std::string> read_message() {
        std::string message;
        auto buffer = net::dynamic_buffer(message);
        do {
            co_await ws_.async_read_some(buffer, kFrameReadBytes, net::use_awaitable);
            received_.set(message.capacity());
        } while (!ws_.is_message_done());
        co_return message;
    }

    static net::awaitable<void> write_all(std::shared_ptr<WsConnection> self) {
        try {
            while (self->open_) {
                if (self->outbox_.empty()) {
                    boost::system::error_code woken;
                    self->wake_.expires_at(net::steady_timer::time_point::max());
                    co_await self->wake_.async_wait(net::redirect_error(net::use_awaitable, woken));
                    continue;
                }
                const Message message = std::move(self->outbox_.front());
                self->outbox_.pop_front();
                co_await self->ws_.async_write(message.buffers(), net::use_awaitable);
                if (!self->open_) break;  // cut off meanwhile; the unread bytes are reset
                self->unread_.set(self->unread_.bytes() - message.size());
                if (self->unread_.bytes() <= self->shared_.options.pause_bytes) self->drained_.cancel();
            }
        } catch (const std::exception&) {
            self->cut();
        }
    }

    /// Waits until the client has read most of its answers: a client that does not read is not read from.
    net::awaitable<void> drained() {
        while (open_ && unread_.bytes() > shared_.options.pause_bytes) {
            boost::system::error_code woken;
            drained_.expires_at(net::steady_timer::time_point::max());
            co_await drained_.async_wait(net::redirect_error(net::use_awaitable, woken));
        }
    }

    /// Runs `push_events`; an exception (e.g. no memory) ends only this connection.
    template <class Push>
    void guarded(const Push& push_events) noexcept {
        try {
            push_events();
        } catch (const std::exception& e) {
            spdlog::error("event=push_failed what=\"{}\"", e.what());
            cut();
        }
    }

    void push(Message message) {
        if (message.size() == 0 || !open_) return;
        const std::size_t unread = unread_.bytes() + message.size();
        if (unread > shared_.options.held.unread) {
            shared_.count_refused();
            spdlog::warn("event=slow_client unread_bytes={}", unread);
            cut();
            return;
        }
        outbox_.push_back(std::move(message));
        unread_.set(unread);
        wake_.cancel();
    }

    Shared& shared_;
    websocket::stream<tls::Stream> ws_;
    const std::string client_;
    net::steady_timer wake_;      // cancelled when there is something to write
    net::steady_timer drained_;   // cancelled when little is left to write
    net::steady_timer answered_;  // timer for requests on the handlers (run_on)
    std::deque<Message> outbox_;
    Reservation received_;  // the current message, until it is answered
    Reservation unread_;
    Reservation subscribed_;  // memory of the subscriptions
    Reservation filters_;     // the same memory, in the quota of filters
    bool open_ = true;
    Table subscriptions_;

    std::mutex feed_mutex_;  // guards the members below
    Feed feed_{kFeedMax, kFeedBytes};
    bool feeding_ = false;  // a turn is queued or its messages are on the way to the strand
    bool fed_up_ = false;
};

}  // namespace

net::awaitable<void> serve_websocket(Shared& shared, tls::Stream stream, HttpMessage request, std::string client,
                                     std::uint64_t place_id) {
    // It stays busy, as its upgrade request was: a subscriber that sends nothing is not idle.
    auto connection = std::make_shared<WsConnection>(shared, std::move(stream), std::move(client), place_id);
    if (!shared.add(connection)) co_return;
    try {
        co_await connection->run(std::move(request));
    } catch (const boost::system::system_error&) {
        // Closed, reset, timed out or message too long: ends only this connection.
    } catch (const std::exception& e) {
        spdlog::error("event=connection_bug what=\"{}\"", e.what());
    }
    connection->cut();
    connection->drop_subscriptions();
}

}  // namespace retrace::node::rpc
