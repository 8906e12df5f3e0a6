// SPDX-License-Identifier: MIT
#include "node/server/comet/abci_server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "merkle/base/durable_file.hpp"
#include "node/server/comet/frame.hpp"

namespace retrace::node::engine {
namespace {

constexpr std::size_t kConnectionsMax = 8;  // CometBFT opens four, and four more while an old process ends
constexpr std::size_t kReadBytes = 64U << 10;

using Failure = std::function<void(const std::string&)>;

class Connection {
public:
    Connection(FileDescriptor socket, const AbciServerOptions& options, const AbciHandler& handler,
               const Failure& on_failure)
        : socket_(std::move(socket)), options_(options), handler_(handler), on_failure_(on_failure) {
        reader_ = std::thread([this] { read(); });
        writer_ = std::thread([this] { answer(); });
    }
    ~Connection() {
        close();
        reader_.join();
        writer_.join();
    }

    bool closed() const {
        const std::lock_guard lock(mutex_);
        return closed_;
    }

private:
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
        ::shutdown(socket_.get(), SHUT_RDWR);
    }

    /// False: the connection is closed.
    bool enqueue(Bytes request) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || queued_bytes_ < options_.queue_bytes; });
        if (closed_) return false;
        queued_bytes_ += request.size();
        queue_.push_back(std::move(request));
        changed_.notify_all();
        return true;
    }

    void read() {
        FrameReader frames;
        Bytes buffer(kReadBytes);
        for (;;) {
            const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            const auto fed = frames.feed(View(buffer).first(static_cast<std::size_t>(got)));
            if (!fed) {
                on_failure_(fed.error().message);
                break;
            }
            while (auto request = frames.next())
                if (!enqueue(*std::move(request))) return;
        }
        close();
    }

    std::optional<Bytes> dequeue() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
        if (closed_) return std::nullopt;
        Bytes request = std::move(queue_.front());
        queue_.pop_front();
        queued_bytes_ -= request.size();
        changed_.notify_all();
        return request;
    }

    bool send(Bytes& unsent) {
        View rest = unsent;
        while (!rest.empty()) {
            const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent <= 0) return false;
            rest = rest.subspan(static_cast<std::size_t>(sent));
        }
        unsent.clear();
        return true;
    }

    void answer() {
        Bytes unsent;
        while (const auto request = dequeue()) {
            const AbciAnswer answer = handler_(*request);
            append_length(unsent, answer.message.size());
            unsent.insert(unsent.end(), answer.message.begin(), answer.message.end());
            if (answer.flush || answer.fatal || unsent.size() >= options_.unsent_bytes)
                if (!send(unsent)) break;
            if (answer.fatal) break;
        }
        close();
    }

    FileDescriptor socket_;
    const AbciServerOptions& options_;
    const AbciHandler& handler_;
    const Failure& on_failure_;
    mutable std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    std::deque<Bytes> queue_;
    std::size_t queued_bytes_ = 0;
    bool closed_ = false;
    std::thread reader_, writer_;
};

Result<FileDescriptor> listen_on(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return error(path + ": the path of a UNIX socket has at most " + std::to_string(sizeof address.sun_path - 1) +
                     " bytes; choose a shorter --data-dir");
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::unlink(path.c_str());
    if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::chmod(path.c_str(), 0600) != 0 || ::listen(socket.get(), 16) != 0) {
        return error(path + ": cannot serve ABCI here: " + std::strerror(errno));
    }
    return socket;
}

}  // namespace

struct AbciServer::Impl {
    AbciServerOptions options;
    AbciHandler handler;
    Failure on_failure;
    FileDescriptor listener;
    std::mutex mutex;  // guards `open`
    std::list<Connection> open;
    std::thread acceptor;

    void accept() {
        for (;;) {
            FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!socket && errno == EINVAL) return;  // the listener was shut down
            if (!socket) {                           // e.g. no descriptor is free
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                continue;
            }
            const std::lock_guard lock(mutex);
            // Ends their threads: no request of a CometBFT that died runs beside the first one of its successor.
            open.remove_if([](const Connection& connection) { return connection.closed(); });
            if (open.size() < kConnectionsMax) open.emplace_back(std::move(socket), options, handler, on_failure);
        }
    }
};

AbciServer::AbciServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
    impl_->acceptor = std::thread([impl = impl_.get()] { impl->accept(); });
}

Result<std::unique_ptr<AbciServer>> AbciServer::start(AbciServerOptions options, AbciHandler handler,
                                                      std::function<void(const std::string&)> on_failure) {
    RETRACE_TRY(listener, listen_on(options.path));
    auto impl = std::make_unique<Impl>();
    impl->options = std::move(options);
    impl->handler = std::move(handler);
    impl->on_failure = std::move(on_failure);
    impl->listener = std::move(listener);
    return std::unique_ptr<AbciServer>(new AbciServer(std::move(impl)));
}

AbciServer::~AbciServer() {
    ::shutdown(impl_->listener.get(), SHUT_RDWR);
    impl_->acceptor.join();
    ::unlink(impl_->options.path.c_str());
    const std::lock_guard lock(impl_->mutex);
    impl_->open.clear();
}

}  // namespace retrace::node::engine
