// SPDX-License-Identifier: MIT
// The connections of the artifact server (http_server.hpp), and what they share.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/vector_body.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "node/artifacts/http_server.hpp"
#include "node/artifacts/request_queue.hpp"
#include "node/artifacts/uplink.hpp"
#include "node/net/connection_table.hpp"

namespace retrace::node {

class ArtifactSession;

/// The open connections, and the order in which their requests are handled. Thread-safe.
class ArtifactSessions {
public:
    using Id = ConnectionTable::Id;

    explicit ArtifactSessions(const ArtifactHttpServer::Options& options)
        : table_({options.connections, options.connections_per_address, 0}),
          queue_({options.reply_bytes_per_address, options.reply_bytes}) {}

    /// Adds a connection; false if there is no place for it.
    bool enter(const std::shared_ptr<ArtifactSession>& session);
    void leave(const ArtifactSession& session) noexcept;
    void begin_wait(Id id) noexcept;
    void begin_request(Id id) noexcept;
    /// Whether the session's request is handled now; otherwise the session is resumed when its turn has come.
    bool begin(const std::shared_ptr<ArtifactSession>& session);
    /// The session's request was handled. Returns whether its reply, of so many bytes, may be sent.
    bool handled(const ArtifactSession& session, std::size_t bytes) noexcept;
    /// The session's reply was sent, or the session is closed.
    void end(const ArtifactSession& session) noexcept;
    /// Drops all waiting requests.
    void clear() noexcept;

private:
    void resume_next(const std::string& address) noexcept;

    std::mutex mutex_;  // guards the members below
    ConnectionTable table_;
    RequestQueue queue_;
    std::map<Id, std::weak_ptr<ArtifactSession>> sessions_;
    std::map<Id, std::shared_ptr<ArtifactSession>> waiting_;  ///< Sessions whose requests wait; nothing else owns them.
};

/// Threads for requests that wait for more than memory (ArtifactServer::Wait), one for each kind of wait: however many
/// such requests there are, they take no thread from the others. Each address has one request handled at a time, so
/// nobody's request waits for more than one of each other address.
class SlowRequestThreads {
public:
    /// The thread for requests that wait for this; null: they are handled at once.
    boost::asio::thread_pool* thread_for(ArtifactServer::Wait wait) noexcept;
    /// Waits for the requests in progress. No request is handled afterwards.
    void stop();

private:
    boost::asio::thread_pool lookups_{1}, loads_{1};
};

/// One connection; lives as long as one of its operations is pending, or its request waits. Its handlers run on its
/// strand.
class ArtifactSession : public std::enable_shared_from_this<ArtifactSession> {
public:
    ArtifactSession(ArtifactSessions::Id id, boost::asio::ip::tcp::socket socket, std::string address,
                    ArtifactServer& server, const ArtifactHttpServer::Options& options, ArtifactSessions& sessions,
                    SlowRequestThreads& slow_threads, Uplink& uplink);
    ~ArtifactSession() {
        end_message();
        sessions_.leave(*this);
    }

    void start();
    /// Handles the request when its turn has come. Callable from any thread.
    void resume();
    /// Closes the connection in favour of another. Callable from any thread.
    void evict() noexcept;

    const ArtifactSessions::Id id;
    const std::string address;

private:
    using Body = boost::beast::http::vector_body<std::uint8_t>;
    using Code = boost::beast::error_code;

    void read_header();
    void read_body(Code code, std::size_t);
    void answer(Code code, std::size_t);
    void handle();
    /// Handles the request on a thread of its kind, then replies on the strand.
    void handle_on_thread(boost::asio::thread_pool& thread, HttpRequest request, bool keep_alive);
    HttpReply answer_to(const HttpRequest& request) const;
    void reply(HttpReply reply, bool keep_alive);
    void write(HttpReply reply, bool keep_alive);
    /// Writes the rest of the reply. The timeout counts from the first byte and grows with what the peer has taken: a
    /// peer that takes nothing is cut off after the grace, and one that takes the reply at the drain rate is not,
    /// however long that is. The time for which we held the reply back does not count.
    void write_some(bool keep_alive);
    /// Waits for a moment, then goes on with write_some.
    void write_later(bool keep_alive);
    /// Whether the next chunk waits, for a message or for a queue.
    bool must_wait(std::chrono::steady_clock::time_point now) noexcept;
    std::chrono::steady_clock::time_point cut_off() const noexcept;
    void end_message() noexcept;
    void end_reply(bool keep_alive);
    /// A connection that is closed within a reply is reset. Otherwise the kernel would keep the rest for a peer that
    /// does not read it.
    void reset_when_closed(bool reset);
    /// Shuts down our side, then reads what the peer still sends for a moment: closing with unread bytes would reset
    /// the connection, and the peer would lose the refusal.
    void close();
    void linger();

    boost::beast::tcp_stream stream_;
    ArtifactServer& server_;
    const ArtifactHttpServer::Options& options_;
    ArtifactSessions& sessions_;
    SlowRequestThreads& slow_threads_;
    Uplink& uplink_;
    boost::asio::steady_timer pause_;
    ReplyKind kind_ = ReplyKind::small;
    bool sends_message_ = false;                  ///< `uplink_` counts its reply.
    std::chrono::steady_clock::duration held_{};  ///< Time for which we held the reply back.
    bool served_ = false;
    bool on_thread_ = false;  ///< A slow-request thread has its request, which counts for its address until that ends.
    boost::beast::flat_buffer buffer_;
    std::optional<boost::beast::http::request_parser<Body>> parser_;
    std::string reader_;  ///< The origin of pages that may read the reply, "*" for any, empty for none.
    boost::beast::http::response<Body> reply_;
    std::optional<boost::beast::http::response_serializer<Body>> serializer_;
    std::chrono::steady_clock::time_point write_begin_;
    std::uint64_t written_ = 0;  ///< Bytes of the reply that the kernel was given.
    std::size_t lingered_ = 0;
};

}  // namespace retrace::node
