// SPDX-License-Identifier: MIT
// One WebSocket connection: JSON-RPC messages in, answers and events out through one bounded queue.
#include <spdlog/spdlog.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/json/serialize.hpp>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "node/rpc/admin_token.hpp"
#include "node/rpc/eth_json.hpp"
#include "node/rpc/filters.hpp"
#include "node/rpc/server_parts.hpp"

namespace retrace::node::rpc {
namespace {

namespace websocket = beast::websocket;

std::string event_text(const std::string& id, std::string_view result) {
    std::string out = R"({"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":")";
    out += id;
    out += R"(","result":)";
    out += result;
    out += "}}";
    return out;
}

/// Everything but the constructor and the Connection interface runs on the stream's strand.
class WsConnection final : public Connection, public std::enable_shared_from_this<WsConnection> {
public:
    WsConnection(Shared& shared, tls::Stream stream, std::string client)
        : shared_(shared),
          ws_(std::move(stream)),
          client_(std::move(client)),
          wake_(ws_.get_executor()),
          drained_(ws_.get_executor()),
          unread_(shared.unread, client_) {
        // Never the first to go when there is no room: a subscriber waits by nature.
        waiting_since_ns = std::numeric_limits<std::int64_t>::max();
    }

    void close() override {
        net::post(ws_.get_executor(), [self = shared_from_this()] { self->cut(); });
    }
    bool is_websocket() const noexcept override { return true; }

    void on_block(const std::shared_ptr<const BlockEvent>& event) override {
        net::post(ws_.get_executor(), [self = shared_from_this(), event] {
            self->guarded([&] { self->push_block(*event); });
        });
    }
    void on_pending(const ledger::TxPtr& tx) override {
        net::post(ws_.get_executor(), [self = shared_from_this(), tx] {
            self->guarded([&] { self->push_pending(*tx); });
        });
    }
    std::size_t unread() const noexcept override { return unread_.bytes(); }

    ~WsConnection() override {
        for (const auto& [id, subscription] : subscriptions_) count(subscription, -1);
    }

    net::awaitable<void> run(HttpMessage request) {
        ws_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
        ws_.read_message_max(shared_.options.body_max);
        beast::get_lowest_layer(ws_).expires_never();  // the WebSocket's own time-outs hold from here
        const auto authorization = request[http::field::authorization];
        const bool admin =
            shows_token({authorization.data(), authorization.size()}, shared_.options.admin_token);
        co_await ws_.async_accept(request, net::use_awaitable);
        ws_.text(true);
        net::co_spawn(ws_.get_executor(), write_all(shared_from_this()), net::detached);
        beast::flat_buffer buffer;
        while (open_) {
            co_await drained();
            if (!open_) break;
            co_await ws_.async_read(buffer, net::use_awaitable);
            std::string message = beast::buffers_to_string(buffer.data());
            buffer.consume(buffer.size());
            const auto changes = std::make_shared<Changes>(shared_from_this());
            Asker asker{changes, beast::get_lowest_layer(ws_), changes.get(), client_, admin};
            push(co_await answer_call(shared_, std::move(asker), std::move(message)));
            apply(*changes);  // after the answer, which names the subscription that events will name
        }
    }

    /// Ends both directions at once.
    void cut() {
        open_ = false;
        outbox_.clear();
        unread_.clear();
        wake_.cancel();
        drained_.cancel();
        beast::get_lowest_layer(ws_).close();
    }

private:
    using Table = std::map<std::string, Subscription>;

    /// What one message does to the subscriptions. A handler fills it in while the strand goes through the
    /// table itself, which stays as it is until the message was answered.
    class Changes final : public Subscriptions {
    public:
        explicit Changes(std::shared_ptr<WsConnection> connection) : connection_(std::move(connection)) {}
        std::string add(Subscription subscription) override {
            const std::size_t held = connection_->subscriptions_.size() + added.size() - removed.size();
            if (held >= connection_->shared_.options.subscriptions) return {};
            std::string id = random_id();
            added[id] = std::move(subscription);
            return id;
        }
        bool remove(const std::string& id) override {
            if (added.erase(id) != 0) return true;
            return connection_->subscriptions_.contains(id) && removed.insert(id).second;
        }
        Table added;
        std::set<std::string> removed;

    private:
        const std::shared_ptr<WsConnection> connection_;
    };

    void apply(Changes& changes) {
        for (const std::string& id : changes.removed) {
            const auto found = subscriptions_.find(id);
            count(found->second, -1);
            subscriptions_.erase(found);
        }
        for (auto& [id, subscription] : changes.added) {
            count(subscription, 1);
            subscriptions_.emplace(id, std::move(subscription));
        }
    }
    void count(const Subscription& subscription, int change) {
        if (subscription.kind == Subscription::Kind::pending_txs) shared_.pending_subscriptions += change;
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
                const std::string message = std::move(self->outbox_.front());
                self->outbox_.pop_front();
                co_await self->ws_.async_write(net::buffer(message), net::use_awaitable);
                if (!self->open_) break;  // cut off meanwhile, and with it all that was unread
                self->unread_.remove(message.size());
                if (self->unread_.bytes() <= self->shared_.options.pause_bytes) self->drained_.cancel();
            }
        } catch (const std::exception&) {
            self->cut();
        }
    }

    /// Returns once the client has read most of what it asked for: who does not read may not ask for more.
    net::awaitable<void> drained() {
        while (open_ && unread_.bytes() > shared_.options.pause_bytes) {
            boost::system::error_code woken;
            drained_.expires_at(net::steady_timer::time_point::max());
            co_await drained_.async_wait(net::redirect_error(net::use_awaitable, woken));
        }
    }

    /// What an event throws (there may be no memory for it) ends this connection and nothing else.
    template <class Push>
    void guarded(const Push& push_event) noexcept {
        try {
            push_event();
        } catch (const std::exception& e) {
            spdlog::error("event=push_failed what=\"{}\"", e.what());
            cut();
        }
    }

    void push(std::string message) {
        if (message.empty() || !open_) return;
        const Unread::Verdict verdict = unread_.add(message.size());
        outbox_.push_back(std::move(message));
        if (verdict == Unread::Verdict::server_full) {
            shared_.drop_slowest();  // which need not be this one
        } else if (verdict != Unread::Verdict::fits) {
            shared_.count_refused();
            spdlog::warn("event=slow_client unread_bytes={}", unread_.bytes());
            cut();
            return;
        }
        wake_.cancel();
    }

    void push_block(const BlockEvent& event) {
        for (const auto& [id, subscription] : subscriptions_) {
            if (!open_) return;
            if (subscription.kind == Subscription::Kind::new_heads) push(event_text(id, event.head));
            if (subscription.kind == Subscription::Kind::task_progress) {
                for (const json::value& progress : subscription.of_block(*event.block))
                    push(event_text(id, json::serialize(progress)));
            }
            if (subscription.kind != Subscription::Kind::logs) continue;
            for (const ledger::LogEntry& entry : ledger::logs_of(*event.block, subscription.filter)) {
                push(event_text(id, json::serialize(log_json(entry))));
            }
        }
    }

    void push_pending(const ledger::SignedTx& tx) {
        for (const auto& [id, subscription] : subscriptions_) {
            if (subscription.kind != Subscription::Kind::pending_txs) continue;
            push(event_text(id, subscription.full_txs ? json::serialize(tx_json(tx, nullptr))
                                                      : '"' + data(tx.hash) + '"'));
        }
    }

    Shared& shared_;
    websocket::stream<tls::Stream> ws_;
    const std::string client_;
    net::steady_timer wake_;     // there is something to write
    net::steady_timer drained_;  // there is little left to write
    std::deque<std::string> outbox_;
    UnreadShare unread_;
    bool open_ = true;
    Table subscriptions_;
};

}  // namespace

net::awaitable<void> serve_websocket(Shared& shared, tls::Stream stream, HttpMessage request, std::string client) {
    const auto origin = request[http::field::origin];
    // Browsers ask no permission before they open a WebSocket, so the list of origins is checked here.
    if (!origin.empty() && !shared.origin_allowed({origin.data(), origin.size()})) {
        shared.count_refused();
        co_return;
    }
    auto connection = std::make_shared<WsConnection>(shared, std::move(stream), std::move(client));
    const std::uint64_t id = shared.add(connection);
    try {
        co_await connection->run(std::move(request));
    } catch (const boost::system::system_error&) {
        // Closed, reset, timed out or too long a message: the end of this connection and of nothing else.
    } catch (const std::exception& e) {
        spdlog::error("event=connection_bug what=\"{}\"", e.what());
    }
    connection->cut();
    shared.remove(id);
}

}  // namespace retrace::node::rpc
