// SPDX-License-Identifier: MIT
#include "node/artifacts/http_session.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

#include "node/net/http_head.hpp"
#include "node/net/reach.hpp"

namespace retrace::node {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr std::uint32_t kHeaderBytesMax = 8 << 10;
constexpr std::size_t kBufferMax = 64 << 10;  ///< Limit on received bytes that are not parsed yet, such as chunk heads.
constexpr std::size_t kLingerBytesMax = 8 << 20;
constexpr std::chrono::seconds kLingerTime{2};
/// Bytes of a reply that the kernel holds and has not sent. By default it would hold megabytes, so that a reply would
/// seem taken although the peer does not read.
constexpr int kUnsentBytesMax = 128 << 10;
constexpr std::chrono::milliseconds kLook{20};  ///< Between two looks at whether a reply may go on.
constexpr const char* kTooManyReplies = "the replies to this address hold too much, try again later";

std::string_view to_view(beast::string_view text) { return {text.data(), text.size()}; }

/// The value of Access-Control-Allow-Origin for the answer; empty: no page may read it. Any page may read the artifacts
/// that any program may, if the port is meant for others; else a page of this machine. A page sends no PUT, because
/// nothing answers the preflight that comes before it.
std::string reader_of(const http::fields& head, std::string_view target, bool any_page) {
    if (!target.starts_with("/artifact/")) return {};
    if (any_page) return "*";
    const std::string_view origin = to_view(head[http::field::origin]);
    const auto scheme_end = origin.find("://");
    const auto host = scheme_end == origin.npos ? std::nullopt : host_of(origin.substr(scheme_end + 3));
    if (!host) return {};
    beast::error_code is_name;
    const bool local = *host == "localhost" || asio::ip::make_address(*host, is_name).is_loopback();
    return local ? std::string(origin) : std::string();
}

/// Whether a browser sent the request for a page, rather than for its user or an agent.
bool is_of_page(const http::fields& head) {
    const auto site = head.find("Sec-Fetch-Site");
    return head.count(http::field::origin) != 0 || (site != head.end() && site->value() != "none");
}

}  // namespace

bool ArtifactSessions::enter(const std::shared_ptr<ArtifactSession>& session) {
    std::shared_ptr<ArtifactSession> evicted;
    {
        const std::lock_guard lock(mutex_);
        sessions_[session->id] = session;
        const auto place = table_.enter(session->id, session->address, std::chrono::steady_clock::now());
        if (!place.free) return false;
        if (place.evicted) evicted = sessions_.at(*place.evicted).lock();
    }
    if (evicted) evicted->evict();
    return true;
}

void ArtifactSessions::leave(const ArtifactSession& session) noexcept {
    {
        const std::lock_guard lock(mutex_);
        table_.leave(session.id);
        sessions_.erase(session.id);
    }
    end(session);
}

void ArtifactSessions::begin_wait(Id id) noexcept {
    const std::lock_guard lock(mutex_);
    table_.begin_wait(id, std::chrono::steady_clock::now());
}

void ArtifactSessions::begin_request(Id id) noexcept {
    const std::lock_guard lock(mutex_);
    table_.begin_request(id, std::chrono::steady_clock::now());
}

bool ArtifactSessions::begin(const std::shared_ptr<ArtifactSession>& session) {
    const std::lock_guard lock(mutex_);
    if (queue_.begin(session->id, session->address)) return true;
    waiting_.emplace(session->id, session);
    return false;
}

bool ArtifactSessions::handled(const ArtifactSession& session, std::size_t bytes) noexcept {
    bool is_kept = true;
    {
        const std::lock_guard lock(mutex_);
        queue_.handled(session.id, bytes);
    }
    while (is_kept) {
        std::shared_ptr<ArtifactSession> dropped;
        {
            const std::lock_guard lock(mutex_);
            const auto id = queue_.drop(session.id);
            if (!id) break;
            is_kept = *id != session.id;
            if (const auto found = sessions_.find(*id); is_kept && found != sessions_.end())
                dropped = found->second.lock();
        }
        if (dropped) dropped->evict();
    }
    resume_next(session.address);
    return is_kept;
}

void ArtifactSessions::end(const ArtifactSession& session) noexcept {
    std::shared_ptr<ArtifactSession> waited;  // Destroyed after the lock is released, because that locks it again.
    {
        const std::lock_guard lock(mutex_);
        queue_.end(session.id);
        if (auto node = waiting_.extract(session.id)) waited = std::move(node.mapped());
    }
    resume_next(session.address);
}

void ArtifactSessions::clear() noexcept {
    std::map<Id, std::shared_ptr<ArtifactSession>> waited;
    {
        const std::lock_guard lock(mutex_);
        waited.swap(waiting_);
    }
}

void ArtifactSessions::resume_next(const std::string& address) noexcept {
    std::shared_ptr<ArtifactSession> next;
    {
        const std::lock_guard lock(mutex_);
        const auto id = queue_.next(address);
        if (!id) return;
        if (auto node = waiting_.extract(*id)) next = std::move(node.mapped());
    }
    if (!next) return;
    try {
        next->resume();
    } catch (const std::exception&) {  // Out of memory: that connection ends, which resumes the next one.
    }
}

asio::thread_pool* SlowRequestThreads::thread_for(ArtifactServer::Wait wait) noexcept {
    switch (wait) {
        case ArtifactServer::Wait::nothing: return nullptr;
        case ArtifactServer::Wait::checkpoints: return &lookups_;
        case ArtifactServer::Wait::tensor: return &loads_;
    }
    return nullptr;
}

void SlowRequestThreads::stop() {
    for (asio::thread_pool* const thread : {&lookups_, &loads_}) {
        thread->stop();
        thread->join();
    }
}

ArtifactSession::ArtifactSession(ArtifactSessions::Id id_in, tcp::socket socket, std::string address_in,
                                 ArtifactServer& server, const ArtifactHttpServer::Options& options,
                                 ArtifactSessions& sessions, SlowRequestThreads& slow_threads, Uplink& uplink)
    : id(id_in),
      address(std::move(address_in)),
      stream_(std::move(socket)),
      server_(server),
      options_(options),
      sessions_(sessions),
      slow_threads_(slow_threads),
      uplink_(uplink),
      pause_(stream_.get_executor()),
      buffer_(kBufferMax) {
    beast::error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
}

void ArtifactSession::start() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->read_header(); });
}

void ArtifactSession::resume() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->handle(); });
}

void ArtifactSession::evict() noexcept {
    try {
        asio::post(stream_.get_executor(), [self = shared_from_this()] {
            self->stream_.close();
            if (!self->on_thread_) self->sessions_.end(*self);
        });
    } catch (const std::exception&) {  // Out of memory: the connection lasts until its timeout.
    }
}

void ArtifactSession::read_header() {
    buffer_.shrink_to_fit();
    sessions_.begin_wait(id);
    kind_ = ReplyKind::small;
    parser_.emplace();
    parser_->header_limit(kHeaderBytesMax);
    parser_->body_limit(boost::none);  // Set in read_body, once the path is known; no body is read before.
    stream_.expires_after(served_ ? options_.idle : std::min(options_.head, options_.idle));
    http::async_read_header(stream_, buffer_, *parser_,
                            beast::bind_front_handler(&ArtifactSession::read_body, shared_from_this()));
}

void ArtifactSession::read_body(beast::error_code code, std::size_t) {
    if (code) return;
    sessions_.begin_request(id);
    served_ = true;
    const auto& head = parser_->get();
    reader_ = reader_of(head, to_view(head.target()), options_.any_page);
    if (const auto fault = fault_of_head(head, to_view(head.target()), head.version(), options_.hosts)) {
        const Fault reason = *fault == HeadFault::host_not_listed ? Fault::not_wanted : Fault::malformed;
        return write(refusal({reason, std::string(text_of(*fault))}), false);
    }
    const std::string_view target = to_view(head.target());
    if ((target.starts_with("/party/") || target.starts_with(kReachPath)) && is_of_page(head))
        return write(refusal({Fault::not_wanted, "no page may ask whose port this is"}), false);
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
    http::async_read(stream_, buffer_, *parser_,
                     beast::bind_front_handler(&ArtifactSession::answer, shared_from_this()));
}

void ArtifactSession::answer(beast::error_code code, std::size_t) {
    if (code == http::error::body_limit) {
        return write(refusal({Fault::too_large, "the body is over the limit"}), false);
    }
    if (code || !stream_.socket().is_open()) return;
    if (sessions_.begin(shared_from_this())) handle();
}

void ArtifactSession::handle() {
    if (!stream_.socket().is_open()) return;  // It was evicted while its request waited.
    auto message = parser_->release();
    const bool keep_alive = message.keep_alive();
    HttpReply answer;
    try {
        HttpRequest request{std::string(message.method_string()), std::string(message.target()),
                            std::move(message.body())};
        kind_ = reply_kind(request.target);
        asio::thread_pool* const thread = slow_threads_.thread_for(server_.wait_for(request));
        if (thread != nullptr) return handle_on_thread(*thread, std::move(request), keep_alive);
        answer = answer_to(request);
    } catch (const std::exception& failed) {  // Out of memory ends the request, not the process.
        answer = refusal({Fault::io, failed.what()});
    }
    reply(std::move(answer), keep_alive);
}

void ArtifactSession::handle_on_thread(asio::thread_pool& thread, HttpRequest request, bool keep_alive) {
    asio::post(thread, [self = shared_from_this(), request = std::move(request), keep_alive] {
        try {
            asio::post(self->stream_.get_executor(), [self, answer = self->answer_to(request), keep_alive]() mutable {
                self->on_thread_ = false;
                if (!self->stream_.socket().is_open()) return self->sessions_.end(*self);
                self->reply(std::move(answer), keep_alive);
            });
        } catch (const std::exception&) {  // Out of memory: that connection ends.
        }
    });
    on_thread_ = true;
}

HttpReply ArtifactSession::answer_to(const HttpRequest& request) const {
    try {
        return server_.handle(request, address);
    } catch (const std::exception& failed) {  // Out of memory ends the request, not the process.
        return refusal({Fault::io, failed.what()});
    }
}

void ArtifactSession::reply(HttpReply reply, bool keep_alive) {
    if (!sessions_.handled(*this, reply.body.size())) reply = refusal({Fault::busy, kTooManyReplies});
    write(std::move(reply), keep_alive);
}

void ArtifactSession::write(HttpReply reply, bool keep_alive) {
    reply_ = {};
    reply_.version(11);
    reply_.result(reply.status);
    reply_.set(http::field::content_type, reply.content_type);
    if (!reader_.empty()) {
        reply_.set(http::field::access_control_allow_origin, reader_);
        reply_.set(http::field::vary, "Origin");
    }
    reply_.set("X-Content-Type-Options", "nosniff");
    reply_.keep_alive(keep_alive);
    reply_.body() = std::move(reply.body);
    reply_.prepare_payload();
    serializer_.emplace(reply_);
    const int unsent_max = kind_ == ReplyKind::small ? kUnsentBytesMax : static_cast<int>(kBulkChunk);
    ::setsockopt(stream_.socket().native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_max, sizeof unsent_max);
    if (kind_ == ReplyKind::bulk) serializer_->limit(kBulkChunk);
    write_begin_ = std::chrono::steady_clock::now();
    written_ = 0;
    held_ = {};
    if (kind_ == ReplyKind::message && reply_.result() == http::status::ok && !reply_.body().empty() &&
        !std::exchange(sends_message_, true))
        uplink_.begin_message(write_begin_);
    reset_when_closed(true);
    write_some(keep_alive);
}

std::chrono::steady_clock::time_point ArtifactSession::cut_off() const noexcept {
    const bool is_bulk = kind_ == ReplyKind::bulk;
    const std::uint64_t unsent_max = is_bulk ? kBulkChunk : kUnsentBytesMax;
    const std::uint64_t taken = written_ - std::min(written_, unsent_max);
    const std::uint64_t rate = is_bulk ? options_.bulk_drain_rate : options_.drain_rate;
    return write_begin_ + options_.drain_grace + std::chrono::milliseconds(1000 * taken / rate) + held_;
}

bool ArtifactSession::must_wait(std::chrono::steady_clock::time_point now) noexcept {
    if (kind_ != ReplyKind::bulk || now >= cut_off()) return false;
    if (uplink_.holds_bulk(now)) return true;
    return may_yield(written_, now - write_begin_, options_.bulk_drain_rate) &&
           is_behind_a_queue(stream_.socket().native_handle());
}

void ArtifactSession::write_some(bool keep_alive) {
    if (must_wait(std::chrono::steady_clock::now())) return write_later(keep_alive);
    stream_.expires_at(cut_off());
    http::async_write_some(
        stream_, *serializer_, [self = shared_from_this(), keep_alive](beast::error_code code, std::size_t size) {
            if (code) return;
            self->written_ += size;
            self->serializer_->is_done() ? self->end_reply(keep_alive) : self->write_some(keep_alive);
        });
}

void ArtifactSession::write_later(bool keep_alive) {
    const auto from = std::chrono::steady_clock::now();
    pause_.expires_at(from + kLook);
    pause_.async_wait([self = shared_from_this(), keep_alive, from](beast::error_code code) {
        if (code || !self->stream_.socket().is_open()) return;
        self->held_ += std::chrono::steady_clock::now() - from;
        self->write_some(keep_alive);
    });
}

void ArtifactSession::end_message() noexcept {
    if (std::exchange(sends_message_, false)) uplink_.end_message(std::chrono::steady_clock::now(), written_);
}

void ArtifactSession::end_reply(bool keep_alive) {
    serializer_.reset();
    reply_ = {};  // An idle connection holds no reply.
    end_message();
    reset_when_closed(false);
    sessions_.end(*this);
    keep_alive ? read_header() : close();
}

void ArtifactSession::reset_when_closed(bool reset) {
    beast::error_code ignored;
    stream_.socket().set_option(asio::socket_base::linger(reset, 0), ignored);
}

void ArtifactSession::close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kLingerTime);
    linger();
}

void ArtifactSession::linger() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kHeaderBytesMax),
                            [self = shared_from_this()](beast::error_code code, std::size_t size) {
                                self->lingered_ += size;
                                if (!code && self->lingered_ < kLingerBytesMax) self->linger();
                            });
}

}  // namespace retrace::node
