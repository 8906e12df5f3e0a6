// SPDX-License-Identifier: MIT
// The ceiling of a task's auctions: it rises by the terms while nobody wins, and by what the requester adds. SPEC 14.
#pragma once

#include "market/types.hpp"

namespace retrace::market {

/// first + (last - first) · step / steps, rounded down; `last` from `steps` on. Requires first ≤ last < 2^128 (asserted).
U256 price_on_curve(const U256& first, const U256& last, std::uint64_t step, std::uint64_t steps);

/// The auctions of a task that has several by its terms, or to which its requester has added some.
struct Auctions {
    U256 first;                ///< Ceiling of a segment in the first one.
    U256 least;                ///< Of the next ones, by what was added; 0: nothing.
    std::uint32_t failed = 0;  ///< Those that had no winners.
    std::uint32_t left = 0;    ///< Those that may follow ones without winners.
    bool operator==(const Auctions&) const = default;
    static auto tie(auto& a) { return std::tie(a.first, a.least, a.failed, a.left); }
    static Names names() { return {"first", "least", "failed", "left"}; }
};

/// The auction that would follow: the open one if that has no winners, or else the task's run if that ends.
struct NextAuction {
    U256 ceiling;                ///< Of a segment.
    std::uint32_t auctions = 0;  ///< That may follow ones without winners.
    bool operator==(const NextAuction&) const = default;
    static auto tie(auto& n) { return std::tie(n.ceiling, n.auctions); }
    static Names names() { return {"ceiling", "auctions"}; }
};

/// 14.1 and 14.2: the ceiling of an auction that begins when `failed` have had no winners.
U256 ceiling_after(const TaskSpec& spec, const Auctions& auctions, std::uint32_t failed);

/// The highest ceiling that the escrow of the task covers by now.
U256 covered_ceiling(const TaskSpec& spec, const Auctions& auctions);

}  // namespace retrace::market
