// SPDX-License-Identifier: MIT
// Rollbacks of a group (contracts 21.14): which records and segments they undo. No record is changed: a rollback says how
// it is read.
#pragma once

#include <algorithm>

#include "market/groups.hpp"

namespace retrace::market {

inline constexpr std::uint8_t kRollbacksMax = 8;
inline constexpr std::uint32_t kAheadMax = 64;
inline constexpr std::uint32_t kUndoneMax = 4'096;  ///< Most messages that one rollback reads.

/// A run was lost while messages of it were recorded and not final.
struct Rollback {
    std::uint32_t run = 0;
    std::uint32_t first = 0;  ///< Round of the first of these messages: its record is read without the run's entry,
    std::uint32_t last = 0;   ///< and those of the rounds after it, up to this one, as empty.
    bool ended = false;       ///< Whether the last one was open then; the rollback ended it.
    bool operator==(const Rollback&) const = default;
    static auto tie(auto& r) { return std::tie(r.run, r.first, r.last, r.ended); }
    static Names names() { return {"run", "first", "last", "ended"}; }
};

/// What a group whose terms have rollbacks knows beside its Group.
struct Rollbacks {
    std::vector<Rollback> noted;     ///< In the order in which they happened.
    std::uint32_t final_rounds = 0;  ///< All messages of the records below this round were final when it was looked at.
    std::uint64_t opened = 0;        ///< Height at which the open round began.
    bool operator==(const Rollbacks&) const = default;
    static auto tie(auto& r) { return std::tie(r.noted, r.final_rounds, r.opened); }
    static Names names() { return {"noted", "finalRounds", "opened"}; }
};

/// The first segment of a run with this attempt: the number of rollbacks that were noted when it was committed.
struct MemberAttempt {
    std::uint64_t segment = 0;
    std::uint64_t start = 0;  ///< The state that it starts at; `segment` but after a rollback.
    std::uint8_t attempt = 0;
    bool operator==(const MemberAttempt&) const = default;
    static auto tie(auto& a) { return std::tie(a.segment, a.start, a.attempt); }
    static Names names() { return {"segment", "start", "attempt"}; }
};
/// Those of a run, by ascending segment. Segments before the first one have attempt 0.
struct MemberAttempts {
    std::vector<MemberAttempt> items;
    bool operator==(const MemberAttempts&) const = default;
    static auto tie(auto& a) { return std::tie(a.items); }
    static Names names() { return {"items"}; }
};
std::uint8_t attempt_of(const MemberAttempts& attempts, std::uint64_t segment);
std::uint64_t start_of(const MemberAttempts& attempts, std::uint64_t segment);

/// Whether a segment that was committed to at this attempt, and has this base, was undone later.
bool is_void(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t base);
/// Bit i: rollback i changed what a segment of this attempt and base has taken in. Segments with one base and equal bits
/// have read the same records.
std::uint32_t changed_by(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t base);
/// Whether segments of this attempt read the record of `round` as empty.
bool is_emptied(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t round);
/// Whether they read it without the entry of this run.
bool is_undone(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t round, std::uint32_t run);
/// Whether the round was open when a rollback ended it.
bool ended_by_rollback(const std::vector<Rollback>& noted, std::uint32_t round);

/// Takes the entries out of a record that segments of this attempt do not read, and sums its weights anew. `Record` has
/// `entries` with `run` and `weight`, and `total`.
template <class Record>
void undo_entries(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t round, Record& record) {
    std::erase_if(record.entries, [&](const auto& entry) {
        if (!is_undone(noted, attempt, round, entry.run)) return false;
        record.total -= entry.weight;
        return true;
    });
}

/// What a lock has beside market 5.2 to pay the requester the segments that a rollback undoes (11.6): 1.25 · (most members
/// - 1) · ahead · price ceiling, rounded up. Zero if records stand.
U256 rollback_stake(const TaskSpec& spec, const GroupSpec& terms);
/// The stake floor of a group's member: that of the task, and rollback_stake.
std::optional<U256> stake_floor(const Params& params, const TaskSpec& spec, const GroupSpec& terms);

}  // namespace retrace::market
