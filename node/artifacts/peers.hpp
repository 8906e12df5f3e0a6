// SPDX-License-Identifier: MIT
// Limits for unknown peers: how slow one may be, and how long one that failed is skipped.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace retrace::node {

using PeerClock = std::chrono::steady_clock;

/// Limits how long one peer may keep us waiting for one artifact: `grace` in total, plus the time that the requested
/// bytes take at the floor rate. Only waiting counts, not our own processing.
class Pace {
public:
    /// `floor_rate`: bytes per second, not zero.
    Pace(std::chrono::milliseconds grace, std::uint64_t floor_rate) : grace_(grace), floor_rate_(floor_rate) {}

    /// Returns the time left for a message of `bytes`; zero when it is used up.
    std::chrono::milliseconds allow(std::uint64_t bytes);
    void waited(PeerClock::duration time) { waited_ += time; }

private:
    std::chrono::milliseconds grace_;
    std::uint64_t floor_rate_, asked_ = 0;
    PeerClock::duration waited_{};
};

/// Skips peers after a failure: for four times as long as the peer kept us waiting, within a minimum and a maximum,
/// doubled for each consecutive failure. So hanging peers, however many, take a small part of our time.
class PeerBook {
public:
    bool left_alone(const std::string& peer, PeerClock::time_point now) const;
    void failed(const std::string& peer, PeerClock::time_point now, PeerClock::duration waited);
    void served(const std::string& peer) { standings_.erase(peer); }

private:
    struct Standing {
        unsigned failures = 0;
        PeerClock::time_point until{};
    };
    std::map<std::string, Standing> standings_;
};

}  // namespace retrace::node
