// SPDX-License-Identifier: MIT
// Limits for unknown peers: how slow one may be, how long one that failed is skipped, and who is asked first.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace retrace::node {

using PeerClock = std::chrono::steady_clock;

/// Limits how long one peer may keep us waiting for one artifact: `grace` in total, plus the time that the requested
/// bytes take at the floor rate. Only waiting counts, not our own processing.
class TimeAllowance {
public:
    /// `floor_rate`: bytes per second, not zero.
    TimeAllowance(std::chrono::milliseconds grace, std::uint64_t floor_rate) : grace_(grace), floor_rate_(floor_rate) {}

    /// Returns the time left for a message of `bytes`; zero when it is used up.
    std::chrono::milliseconds allow(std::uint64_t bytes);
    void waited(PeerClock::duration time) { waited_ += time; }

private:
    std::chrono::milliseconds grace_;
    std::uint64_t floor_rate_, asked_ = 0;
    PeerClock::duration waited_{};
};

/// Peers to ask for an artifact, "http://host:port". Each of the first has a time of its own; all others share one, so
/// that strangers that are silent on purpose, however many, take no more time than one.
struct PeerList {
    std::vector<std::string> first, others;

    PeerList() = default;
    PeerList(std::vector<std::string> first_ones, std::vector<std::string> other_ones = {})
        : first(std::move(first_ones)), others(std::move(other_ones)) {}
    PeerList(std::initializer_list<std::string> first_ones) : first(first_ones) {}
    bool empty() const noexcept { return first.empty() && others.empty(); }
};

/// Skips peers after a failure: for four times as long as the peer kept us waiting, within a minimum and a maximum,
/// doubled for each consecutive failure. So one hanging peer takes a small part of our time; PeerList bounds many.
class PeerBackoff {
public:
    /// Whether the peer is skipped at this time.
    bool is_backing_off(const std::string& peer, PeerClock::time_point now) const;
    void failed(const std::string& peer, PeerClock::time_point now, PeerClock::duration waited);
    /// Ends the peer's pause, if it has one. The peer is then retrying until it serves or fails again.
    void end_pause(const std::string& peer, PeerClock::time_point now);
    bool retrying(const std::string& peer) const;
    void served(const std::string& peer) { entries_.erase(peer); }

private:
    struct Entry {
        unsigned failures = 0;
        PeerClock::time_point until{};
        bool retrying = false;
    };
    std::map<std::string, Entry> entries_;
};

}  // namespace retrace::node
