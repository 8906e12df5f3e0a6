// SPDX-License-Identifier: MIT
// How much the server holds for clients that do not read it: of one connection, one address and all together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace retrace::node::rpc {

struct UnreadLimits {
    std::size_t connection = std::size_t{32} << 20;  ///< Of a WebSocket; an HTTP answer may be longer.
    std::size_t client = std::size_t{128} << 20;     ///< Of those with a name.
    std::size_t total = std::size_t{512} << 20;
};

/// Thread-safe.
class Unread {
public:
    enum class Verdict : std::uint8_t { fits, connection_full, client_full, server_full };

    explicit Unread(UnreadLimits limits) : limits_(limits) {}
    const UnreadLimits& limits() const noexcept { return limits_; }

    /// Bytes on their way to one connection. `of_connection` counts them too.
    Verdict add(const std::string& client, std::size_t of_connection, std::size_t bytes);
    void remove(const std::string& client, std::size_t bytes);

private:
    const UnreadLimits limits_;
    std::mutex mutex_;
    std::size_t total_ = 0;
    std::map<std::string, std::size_t> of_client_;
};

/// One connection's part. The connection alone changes it; `bytes` may be read by anybody.
class UnreadShare {
public:
    /// `all` outlives this.
    UnreadShare(Unread& all, std::string client) : all_(all), client_(std::move(client)) {}
    ~UnreadShare() { clear(); }
    UnreadShare(const UnreadShare&) = delete;

    /// Counted whatever the verdict is.
    Unread::Verdict add(std::size_t bytes) {
        bytes_ += bytes;
        return all_.add(client_, bytes_, bytes);
    }
    void remove(std::size_t bytes) {
        bytes_ -= bytes;
        all_.remove(client_, bytes);
    }
    void clear() { remove(bytes_); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    Unread& all_;
    const std::string client_;
    std::atomic<std::size_t> bytes_{0};
};

}  // namespace retrace::node::rpc
