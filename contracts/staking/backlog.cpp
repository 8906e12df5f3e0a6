// SPDX-License-Identifier: MIT
#include "contracts/staking/backlog.hpp"

namespace retrace::contracts {

Backlog backlog(const StateView& view, const Address& party) {
    return load<Backlog>(view, keys::backlog(party)).value_or(Backlog{});
}

std::uint64_t busy_until(const StateView& view, const Address& party, std::uint64_t height) {
    return std::max(height, backlog(view, party).until);
}

std::uint64_t give_work(Effects& fx, const Address& party, std::uint64_t blocks) {
    Backlog now = backlog(fx.state, party);
    now.until = std::max(now.until, fx.height) + blocks;
    now.total += blocks;
    store(fx.state, keys::backlog(party), now);
    return now.until;
}

std::uint64_t give_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, bool at_will) {
    Backlog now = backlog(fx.state, party);
    ++now.disputes;
    if (at_will) now.challenges = std::max(now.challenges, fx.height) + blocks;
    store(fx.state, keys::backlog(party), now);
    return give_work(fx, party, blocks);
}

void end_dispute_work(Effects& fx, const Address& party, std::uint64_t due, std::uint64_t blocks, std::uint64_t given) {
    Backlog now = backlog(fx.state, party);
    --now.disputes;
    store(fx.state, keys::backlog(party), now);
    return_work(fx, party, due, blocks, given);
}

void return_work(Effects& fx, const Address& party, std::uint64_t due, std::uint64_t blocks, std::uint64_t given) {
    if (due <= fx.height) return;
    Backlog now = backlog(fx.state, party);
    if (now.disputes != 0) blocks -= std::min(blocks, fx.height - given);
    // Until `due` the machine had what was given before and this: at most `blocks` of what is left are this work's.
    now.until -= std::min({now.until, blocks, due - fx.height});
    store(fx.state, keys::backlog(party), now);
}

}  // namespace retrace::contracts
