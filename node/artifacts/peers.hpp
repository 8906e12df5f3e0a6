// SPDX-License-Identifier: MIT
// What a party grants to peers that it does not know: how slow one may be, and how long one that failed is left alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace retrace::node {

using PeerClock = std::chrono::steady_clock;

/// How long one peer may keep us waiting for one artifact: `grace` in all, and besides that the time in which what was
/// asked for comes at the floor rate. Only waiting counts, not what we do with the bytes.
class Pace {
public:
    /// `floor_rate`: bytes per second, not zero.
    Pace(std::chrono::milliseconds grace, std::uint64_t floor_rate) : grace_(grace), floor_rate_(floor_rate) {}

    /// What is left for a message that brings `bytes`; zero when all is spent.
    std::chrono::milliseconds allow(std::uint64_t bytes);
    void waited(PeerClock::duration time) { waited_ += time; }

private:
    std::chrono::milliseconds grace_;
    std::uint64_t floor_rate_, asked_ = 0;
    PeerClock::duration waited_{};
};

/// A peer that failed is left alone: four times as long as it kept us waiting, at least a moment, and twice as long
/// for each failure after the other. So strangers, however many of them hang, take a small part of our time.
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
