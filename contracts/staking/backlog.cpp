// SPDX-License-Identifier: MIT
#include "contracts/staking/backlog.hpp"

namespace retrace::contracts {

Backlog backlog(const StateView& view, const Address& party) {
    return load<Backlog>(view, keys::backlog(party)).value_or(Backlog{});
}

std::uint64_t busy_until(const StateView& view, const Address& party, std::uint64_t height) {
    const Backlog now = backlog(view, party);
    return std::max(now.until, height + now.dispute_work);
}

std::uint64_t challenges_until(const StateView& view, const Address& party, std::uint64_t height) {
    const Backlog now = backlog(view, party);
    return std::max(now.challenges, height + now.challenge_work);
}

std::uint64_t give_work(Effects& fx, const Address& party, std::uint64_t blocks) {
    Backlog now = backlog(fx.state, party);
    now.until = std::max(now.until, fx.height + now.dispute_work) + blocks;
    now.total += blocks;
    store(fx.state, keys::backlog(party), now);
    return now.until;
}

std::uint64_t give_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, bool at_will) {
    const std::uint64_t due = give_work(fx, party, blocks);
    Backlog now = backlog(fx.state, party);
    now.dispute_work += blocks;
    if (at_will) {
        now.challenges = std::max(now.challenges, fx.height + now.challenge_work) + blocks;
        now.challenge_work += blocks;
    }
    store(fx.state, keys::backlog(party), now);
    return due;
}

bool end_dispute_work(Effects& fx, const Address& party, std::uint64_t due, std::uint64_t blocks, std::uint64_t given,
                      bool at_will) {
    Backlog now = backlog(fx.state, party);
    const std::uint64_t ahead = challenges_ahead_max(fx.params);
    const bool refused = now.challenge_work > ahead;
    now.dispute_work -= blocks;
    if (at_will) {
        // From here on they are heard, and who was refused has a whole window (15.2.6).
        now.challenges = std::max(now.challenges, fx.height + std::min(now.challenge_work, ahead));
        now.challenge_work -= blocks;
    }
    store(fx.state, keys::backlog(party), now);
    return_work(fx, party, due, blocks, given);
    return refused && now.challenge_work <= ahead;
}

void return_work(Effects& fx, const Address& party, std::uint64_t due, std::uint64_t blocks, std::uint64_t given) {
    if (due <= fx.height) return;
    Backlog now = backlog(fx.state, party);
    if (now.dispute_work != 0) blocks -= std::min(blocks, fx.height - given);
    // Until `due` the machine had what was given before and this: at most `blocks` of what is left are this work's.
    const std::uint64_t back = std::min({now.until, blocks, due - fx.height});
    now.until -= back;
    now.total -= std::min(now.total, back);
    store(fx.state, keys::backlog(party), now);
}

}  // namespace retrace::contracts
