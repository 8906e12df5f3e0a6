// SPDX-License-Identifier: MIT
// The machine time that the ledger has given a party to do. SPEC 18.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// A party is one machine with one worker, however many runs, seats and disputes it has. It does what it was given in
/// the order in which it was given it.
struct Backlog {
    std::uint64_t until = 0;   ///< Height by which a machine that takes its whole allowance has done all of it.
    std::uint64_t open = 0;    ///< Blocks of work that was given and is not over, begun or not.
    std::uint64_t total = 0;   ///< Blocks of work that it was given and has not given back (18.7).
    std::uint64_t dispute_work = 0;    ///< Of `open`: of the disputes that it plays, on either side.
    std::uint64_t challenges = 0;      ///< As `until`, of challenges alone: about its runs, and its own.
    std::uint64_t challenge_work = 0;  ///< Of `dispute_work`: of challenges.
    static auto tie(auto& b) {
        return std::tie(b.until, b.open, b.total, b.dispute_work, b.challenges, b.challenge_work);
    }
};

Backlog backlog(const StateView& view, const Address& party);
/// Height by which the party has done what it was given, at least `height`. Two bounds hold, and the nearer one counts:
/// a machine works off its order, but may wait for its opponents with all of its disputes still to do; and nothing but
/// what is open is left to do. 18.2
std::uint64_t busy_until(const StateView& view, const Address& party, std::uint64_t height);

/// Gives `party` work for `blocks` from now on. Returns the new `until`: the work's own place in the party's order, and
/// what its deadline counts from. 18.2
std::uint64_t give_work(Effects& fx, const Address& party, std::uint64_t blocks);
/// The party has done work of `blocks`, or nobody waits for it any more: what it did not need of its allowance is free
/// for what is given next. 18.7
void end_work(Effects& fx, const Address& party, std::uint64_t blocks);

/// As give_work, of one side of a dispute; `at_will` if it is a challenge, caused by strangers or by the party. 18.6
std::uint64_t give_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, bool at_will);
/// The dispute is over, whose work was `given` at that height; as end_work, but what its party may have computed since
/// then was needed. True when strangers' challenges were refused for what those that are open would
/// take of the party, and are heard again (18.6).
bool end_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, std::uint64_t given, bool at_will);
/// 18.6: how far ahead a party's challenges alone may reach before no more are taken.
constexpr std::uint64_t challenges_ahead_max(const market::Params& params) noexcept { return params.unbond_blocks / 4; }
/// 18.6: by when a machine that takes its whole allowance has played the challenges that it has, at least `height`.
std::uint64_t challenges_until(const StateView& view, const Address& party, std::uint64_t height);

}  // namespace retrace::contracts
