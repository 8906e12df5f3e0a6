// SPDX-License-Identifier: MIT
// Connects back to whoever asks, so that an agent's operator learns whether its port is reached from this node.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"
#include "node/net/http_client.hpp"

namespace retrace::node {

/// Dials the address that a question came from, and no other, on the port that it names, and asks there for the answer
/// of an agent to a nonce (node/net/reach.hpp). Nothing is sent but that request, and nothing is told but whether the
/// answer came: why it did not, and how soon that was known, would let somebody look for open ports at an address that
/// others share. For that reason an attempt keeps its thread until its failure is told, however soon it ended: whoever
/// waits for a thread learns nothing of the attempts before. Thread-safe; a question never waits for a connection.
class DialBack {
public:
    using Clock = std::chrono::steady_clock;
    struct Options {
        std::size_t threads = 16;                 ///< Attempts at a time.
        std::size_t waiting = 32;                 ///< Attempts that wait for a thread.
        std::size_t addresses = 1024;             ///< Whose attempts are remembered; more than run and wait.
        std::size_t per_network = 4;              ///< Attempts of a /48 network of IPv6 within `pause`.
        std::chrono::milliseconds attempt{4000};  ///< Most time of an attempt.
        std::chrono::milliseconds told{5000};     ///< From its beginning until its failure is told.
        std::chrono::milliseconds pause{10'000};  ///< Between the attempts of an address.
        std::chrono::milliseconds kept{120'000};  ///< How long an outcome is remembered.
    };
    enum class Outcome : std::uint8_t { dialling = 1, reached = 2, not_reached = 3 };

    explicit DialBack(const Options& options);
    DialBack() : DialBack(Options{}) {}
    ~DialBack();

    /// The outcome of the attempt for `address` (IPv4 or IPv6, as text) with this port and nonce, which begins if the
    /// address has none. `named`: the endpoint's URL, whose host TLS checks and HTTP names, although the address alone is
    /// dialled, on the URL's port; nullopt: http and the address. An Error says why none may begin now. The /64 network
    /// of an IPv6 address counts as one address, and a /48 network has few attempts at a time.
    Result<Outcome> ask(const std::string& address, std::uint16_t port, const Hash32& nonce,
                        const std::optional<Url>& named = {});

private:
    struct Attempt {
        std::string address;
        Url url;
        Hash32 nonce;
        std::string network;  ///< The /48 of an IPv6 address; else the address.
        Clock::time_point asked, begun{};
        std::optional<bool> reached{};  ///< Once it has ended.
        bool operator==(const Attempt& other) const {
            return address == other.address && url == other.url && nonce == other.nonce;
        }
    };

    /// Whether its failure may be told, or would be if it had failed.
    bool is_told(const Attempt& attempt, Clock::time_point now) const;
    /// Whether another attempt of its address or network has to wait for this one.
    bool holds_up(const Attempt& attempt, Clock::time_point now) const;
    void forget_old(Clock::time_point now);
    /// Forgets the oldest attempt that is told; there is one, because more are remembered than wait and run.
    void forget_one(Clock::time_point now);
    void run(const std::stop_token& stop);
    bool dial(const Attempt& attempt, const std::stop_token& stop) const;

    const Options options_;
    std::mutex mutex_;  // guards the members below, up to the threads
    std::condition_variable_any wake_;
    std::map<std::string, Attempt> attempts_;  ///< The newest of each address.
    std::deque<std::string> waiting_;          ///< Keys of `attempts_`.
    std::vector<std::jthread> threads_;
};

}  // namespace retrace::node
