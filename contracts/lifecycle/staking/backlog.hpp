// SPDX-License-Identifier: MIT
// Accounting of the machine time that the ledger assigns to a party. SPEC 18.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// The work assigned to a party. A party is one machine with one worker, however many runs, seats and disputes it has.
/// It does its work in the order in which it was assigned.
struct Backlog {
    std::uint64_t until = 0;           ///< Height by which a machine that uses its whole allowance has done all of it.
    std::uint64_t open = 0;            ///< Blocks of assigned work that is not over, begun or not.
    std::uint64_t total = 0;           ///< Blocks of assigned work less those given back (18.7).
    std::uint64_t dispute_work = 0;    ///< Part of `open`: its disputes, on either side.
    std::uint64_t challenge_work = 0;  ///< Part of `dispute_work`: challenges about its runs, and its own.
    std::uint64_t own_challenges = 0;  ///< Number of its own challenges that are open.
    std::uint64_t kept_work = 0;       ///< Part of `open`: answers about states that it keeps.
    /// Height at which challenges about its runs were last accepted again after refusals (15.2.6); 0: never.
    std::uint64_t challenges_accepted_since = 0;
    static auto tie(auto& b) {
        return std::tie(b.until, b.open, b.total, b.dispute_work, b.challenge_work, b.own_challenges, b.kept_work,
                        b.challenges_accepted_since);
    }
};

Backlog backlog(const StateView& view, const Address& party);
/// 18.2: returns the height by which the party has done its assigned work, at least `height`: the lower of two upper
/// bounds. (1) The end of its queue, but late enough to do the work of all its disputes, because it may have waited for
/// opponents. (2) `height` plus all open work.
std::uint64_t busy_until(const StateView& view, const Address& party, std::uint64_t height);

/// Assigns `party` work of `blocks` from now on. Returns the new `until`: the work's place in the party's order, from
/// which its deadline counts. 18.2
std::uint64_t give_work(Effects& fx, const Address& party, std::uint64_t blocks);
/// Ends work of `blocks` that the party has done or that is no longer needed. The unused part of the allowance is free
/// for work that is assigned next. 18.7
void end_work(Effects& fx, const Address& party, std::uint64_t blocks);

/// As give_work and end_work, for an answer about a state that the party keeps.
std::uint64_t give_kept_work(Effects& fx, const Address& party, std::uint64_t blocks);
void end_kept_work(Effects& fx, const Address& party, std::uint64_t blocks);
/// 14.2.8: whether the party can begin with a seat within half of `unbond_blocks`. Answers about kept states do not
/// count, because a stranger can ask for many of them.
bool has_time_for_seat(const StateView& view, const market::Params& params, const Address& party, std::uint64_t height);

/// Why a dispute is open, as seen by one party to it. 18.6
enum class DisputeOrigin : std::uint8_t {
    assigned,     ///< Not a challenge: the rules let only a drawn auditor or a replica open it.
    other_party,  ///< Another party challenged.
    self,         ///< The party itself challenged.
};
/// As give_work, for one side of a dispute.
std::uint64_t give_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, DisputeOrigin origin);
/// Ends the work of a dispute that is over and was assigned at height `given`. As end_work, but the time since then
/// counts as used. Returns true when strangers' challenges were refused because of the work of the open ones, and are
/// accepted again (18.6).
bool end_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, std::uint64_t given,
                      DisputeOrigin origin);
/// 18.6: blocks of work of a party's challenges beyond which further challenges are refused.
constexpr std::uint64_t challenges_ahead_max(const market::Params& params) noexcept { return params.unbond_blocks / 4; }
/// 18.6: number of its own challenges that a party may have open however long they take, so that a bait does not
/// silence it.
inline constexpr std::uint64_t kOwnChallenges = 4;

}  // namespace retrace::contracts
