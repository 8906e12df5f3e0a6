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
class WsConnection final : public Connection,
                           public Subscriptions,
                           public std::enable_shared_from_this<WsConnection> {
public:
    WsConnection(Shared& shared, tls::Stream stream, std::string client)
        : shared_(shared),
          ws_(std::move(stream)),
          wake_(ws_.get_executor()),
          allowance_(shared.allowance_of(client)) {
        // Never the first to go when there is no room: a subscriber waits by nature.
        waiting_since_ns = std::numeric_limits<std::int64_t>::max();
    }

    void close() override {
        net::post(ws_.get_executor(), [self = shared_from_this()] { self->cut(); });
    }
    bool is_websocket() const noexcept override { return true; }

    void on_block(const std::shared_ptr<const BlockEvent>& event) override {
        net::post(ws_.get_executor(), [self = shared_from_this(), event] { self->push_block(*event); });
    }
    void on_pending(const ledger::TxPtr& tx) override {
        net::post(ws_.get_executor(), [self = shared_from_this(), tx] { self->push_pending(*tx); });
    }

    std::string add(Subscription subscription) override {
        if (subscriptions_.size() >= shared_.options.subscriptions) return {};
        std::string id = random_id();
        if (subscription.kind == Subscription::Kind::pending_txs) ++shared_.pending_subscriptions;
        subscriptions_[id] = std::move(subscription);
        return id;
    }
    bool remove(const std::string& id) override {
        const auto found = subscriptions_.find(id);
        if (found == subscriptions_.end()) return false;
        if (found->second.kind == Subscription::Kind::pending_txs) --shared_.pending_subscriptions;
        subscriptions_.erase(found);
        return true;
    }
    ~WsConnection() override {
        while (!subscriptions_.empty()) remove(std::string(subscriptions_.begin()->first));
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
            co_await ws_.async_read(buffer, net::use_awaitable);
            Caller caller;
            caller.subscriptions = this;
            caller.allowance = &allowance_;
            caller.admin = admin;
            // Copied, because the answer may take the buffer's place while this one is still parsed.
            const std::string message = beast::buffers_to_string(buffer.data());
            buffer.consume(buffer.size());
            push(shared_.dispatcher.handle(message, caller));
        }
    }

    /// Ends both directions at once.
    void cut() {
        open_ = false;
        wake_.cancel();
        beast::get_lowest_layer(ws_).close();
    }

private:
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
                self->unread_ -= message.size();
            }
        } catch (const boost::system::system_error&) {
            self->cut();
        }
    }

    void push(std::string message) {
        if (message.empty() || !open_) return;
        unread_ += message.size();
        outbox_.push_back(std::move(message));
        if (unread_ > shared_.options.unread_bytes) {
            shared_.count_refused();
            spdlog::warn("event=slow_client unread_bytes={}", unread_);
            cut();
            return;
        }
        wake_.cancel();
    }

    void push_block(const BlockEvent& event) {
        for (const auto& [id, subscription] : subscriptions_) {
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
    net::steady_timer wake_;
    Allowance allowance_;
    std::deque<std::string> outbox_;
    std::size_t unread_ = 0;
    bool open_ = true;
    std::map<std::string, Subscription> subscriptions_;
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
    }
    connection->cut();
    shared.remove(id);
}

}  // namespace retrace::node::rpc
