// SPDX-License-Identifier: MIT
// The machine time that the ledger has given a party to do. SPEC 18.
#pragma once

#include "contracts/effects.hpp"

namespace retrace::contracts {

/// A party is one machine with one worker, however many runs, seats and disputes it has. It does what it was given in
/// the order in which it was given it.
struct Backlog {
    std::uint64_t until = 0;   ///< Height by which a machine that takes its whole allowance has done all of it.
    std::uint64_t total = 0;   ///< Blocks of work that it was given and has not given back (18.7).
    std::uint64_t challenges = 0;      ///< As `until`, of challenges alone: about its runs, and its own.
    std::uint64_t dispute_work = 0;    ///< Blocks of work of the open disputes that it plays, on either side.
    std::uint64_t challenge_work = 0;  ///< Those of them that are of challenges.
    static auto tie(auto& b) {
        return std::tie(b.until, b.total, b.challenges, b.dispute_work, b.challenge_work);
    }
};

Backlog backlog(const StateView& view, const Address& party);
/// Height by which the party has done what it was given, at least `height`. What is left of an open dispute is not
/// known: it may wait for its opponent with all of its work still to do, however long it has been open. 18.2
std::uint64_t busy_until(const StateView& view, const Address& party, std::uint64_t height);

/// Gives `party` work for `blocks` from now on. Returns the new `until`: the work's own place in the party's order, and
/// what its deadline counts from. 18.2
std::uint64_t give_work(Effects& fx, const Address& party, std::uint64_t blocks);
/// The party has done work of `blocks` whose place was `due`, or nobody waits for it any more: what it did not need of
/// its allowance is free for what is given next. While it plays a dispute it may have done this as it waited for its
/// opponent, with that work still before it: then it may have taken all the time since the work was `given`. 18.7
void return_work(Effects& fx, const Address& party, std::uint64_t due, std::uint64_t blocks, std::uint64_t given = 0);

/// As give_work, of one side of a dispute; `at_will` if it is a challenge, caused by strangers or by the party. 18.6
std::uint64_t give_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, bool at_will);
/// The dispute is over, whose place was `due`; as return_work. True when strangers' challenges were refused for what
/// those that are open would take of the party, and are heard again (18.6).
bool end_dispute_work(Effects& fx, const Address& party, std::uint64_t due, std::uint64_t blocks, std::uint64_t given,
                      bool at_will);
/// 18.6: how far ahead a party's challenges alone may reach before no more are taken.
constexpr std::uint64_t challenges_ahead_max(const market::Params& params) noexcept { return params.unbond_blocks / 4; }
/// 18.6: by when a machine that takes its whole allowance has played the challenges that it has, at least `height`.
std::uint64_t challenges_until(const StateView& view, const Address& party, std::uint64_t height);

}  // namespace retrace::contracts
