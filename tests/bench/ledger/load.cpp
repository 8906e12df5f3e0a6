// SPDX-License-Identifier: MIT
#include "tests/bench/ledger/load.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace retrace::bench {
namespace {

[[noreturn]] void fail(const char* what) { throw std::runtime_error(what); }

/// Where the text begins in the head, whatever the case of its letters; npos: it is not there.
std::size_t find_header(std::string_view head, std::string_view name) {
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    const auto found = std::search(head.begin(), head.end(), name.begin(), name.end(), same);
    return found == head.end() ? std::string_view::npos : static_cast<std::size_t>(found - head.begin());
}

bool is_chunked(std::string_view head) {
    return find_header(head, "\r\ntransfer-encoding: chunked") != std::string_view::npos;
}

std::string joined(std::string_view chunks) {
    std::string out;
    for (;;) {
        const std::size_t line = chunks.find("\r\n");
        std::size_t size = 0;
        std::from_chars(chunks.data(), chunks.data() + line, size, 16);
        if (size == 0) return out;
        out += chunks.substr(line + 2, size);
        chunks.remove_prefix(line + 2 + size + 2);
    }
}

std::size_t content_length(std::string_view head) {
    constexpr std::string_view kName = "\r\ncontent-length: ";
    const std::size_t at = find_header(head, kName);
    if (at == std::string_view::npos) fail("the node's reply has no Content-Length");
    std::size_t length = 0;
    std::from_chars(head.data() + at + kName.size(), head.data() + head.size(), length);
    return length;
}

}  // namespace

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string http_request(std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

Connection::Connection(const Endpoint& node) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(node.port);
    address.sin_addr.s_addr = htonl(node.address);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        if (socket_ >= 0) ::close(socket_);
        fail("the node cannot be reached");
    }
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() {
    if (socket_ >= 0) ::close(socket_);
}

Connection::Connection(Connection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      buffer_(std::move(other.buffer_)),
      head_(other.head_),
      length_(other.length_),
      chunked_(other.chunked_) {}

void Connection::send(std::string_view request) {
    buffer_.clear();
    head_ = length_ = 0;
    while (!request.empty()) {
        const ssize_t sent = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) fail("the node closed a connection");
        request.remove_prefix(static_cast<std::size_t>(sent));
    }
}

bool Connection::receive() {
    char chunk[64 << 10];
    const ssize_t got = ::recv(socket_, chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) return false;
    if (got <= 0) fail("the node closed a connection");
    buffer_.append(chunk, static_cast<std::size_t>(got));
    if (head_ == 0) {
        const std::size_t end = buffer_.find("\r\n\r\n");
        if (end == std::string::npos) return false;
        head_ = end + 4;
        chunked_ = is_chunked(std::string_view(buffer_).substr(0, end));
        length_ = chunked_ ? 0 : content_length(std::string_view(buffer_).substr(0, end));
    }
    if (chunked_) {
        if (!buffer_.ends_with("\r\n0\r\n\r\n")) return false;
        buffer_.replace(head_, std::string::npos, joined(std::string_view(buffer_).substr(head_)));
        length_ = buffer_.size() - head_;
        return true;
    }
    return buffer_.size() >= head_ + length_;
}

std::string_view Connection::body() const { return std::string_view(buffer_).substr(head_, length_); }

std::string_view Connection::exchange(std::string_view request) {
    send(request);
    while (!receive()) {
    }
    return body();
}

void run_load(std::vector<Connection>& connections, const Load& load, Clock::time_point until) {
    const int poll = ::epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0) fail("no epoll");
    std::vector<Clock::time_point> sent(connections.size());
    std::vector<std::size_t> idle;
    for (std::size_t i = 0; i < connections.size(); ++i) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        ::epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].descriptor(), &event);
        idle.push_back(i);
    }
    std::size_t under_way = 0;
    for (;;) {
        const bool over = Clock::now() >= until || (load.finished && load.finished());
        if (over && under_way == 0) break;
        if (!over) {
            std::erase_if(idle, [&](std::size_t i) {
                const std::string_view request = load.next(i);
                if (request.empty()) return false;
                sent[i] = Clock::now();
                connections[i].send(request);
                ++under_way;
                return true;
            });
        }
        epoll_event events[64];
        const int ready = ::epoll_wait(poll, events, 64, idle.empty() ? 100 : 1);
        for (int e = 0; e < std::max(ready, 0); ++e) {
            const std::size_t i = events[e].data.u64;
            if (!connections[i].receive()) continue;
            --under_way;
            load.done(i, connections[i].body(), sent[i]);
            idle.push_back(i);
        }
    }
    ::close(poll);
}

}  // namespace retrace::bench
