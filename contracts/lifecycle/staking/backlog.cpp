// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/staking/backlog.hpp"

namespace retrace::contracts {
namespace {

std::uint64_t end_of(const Backlog& now, std::uint64_t height) {
    const std::uint64_t in_order = std::max(now.until, height + now.dispute_work);
    return std::min(in_order, height + now.open);
}

/// Removes work of `blocks` from `open`. The queue then ends earlier by the unused blocks; at most `spare` of these are
/// subtracted from `total`.
void close_work(Backlog& now, std::uint64_t blocks, std::uint64_t before, std::uint64_t height, std::uint64_t spare) {
    now.open -= blocks;
    now.until = end_of(now, height);
    now.total -= std::min({now.total, spare, before - now.until});
}

}  // namespace

Backlog backlog(const StateView& view, const Address& party) {
    return load<Backlog>(view, keys::backlog(party)).value_or(Backlog{});
}

std::uint64_t busy_until(const StateView& view, const Address& party, std::uint64_t height) {
    return end_of(backlog(view, party), height);
}

std::uint64_t give_work(Effects& fx, const Address& party, std::uint64_t blocks) {
    Backlog now = backlog(fx.state, party);
    now.until = end_of(now, fx.height) + blocks;
    now.open += blocks;
    now.total += blocks;
    store(fx.state, keys::backlog(party), now);
    return now.until;
}

void end_work(Effects& fx, const Address& party, std::uint64_t blocks) {
    Backlog now = backlog(fx.state, party);
    close_work(now, blocks, end_of(now, fx.height), fx.height, blocks);
    store(fx.state, keys::backlog(party), now);
}

std::uint64_t give_kept_work(Effects& fx, const Address& party, std::uint64_t blocks) {
    const std::uint64_t due = give_work(fx, party, blocks);
    Backlog now = backlog(fx.state, party);
    now.kept_work += blocks;
    store(fx.state, keys::backlog(party), now);
    return due;
}

void end_kept_work(Effects& fx, const Address& party, std::uint64_t blocks) {
    end_work(fx, party, blocks);
    Backlog now = backlog(fx.state, party);
    now.kept_work -= blocks;
    store(fx.state, keys::backlog(party), now);
}

bool has_time_for_seat(const StateView& view, const market::Params& params, const Address& party,
                       std::uint64_t height) {
    const Backlog now = backlog(view, party);
    return end_of(now, height) - height <= params.unbond_blocks / 2 + now.kept_work;
}

std::uint64_t give_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, DisputeOrigin origin) {
    const std::uint64_t due = give_work(fx, party, blocks);
    Backlog now = backlog(fx.state, party);
    now.dispute_work += blocks;
    if (origin != DisputeOrigin::assigned) now.challenge_work += blocks;
    if (origin == DisputeOrigin::self) ++now.own_challenges;
    store(fx.state, keys::backlog(party), now);
    return due;
}

bool end_dispute_work(Effects& fx, const Address& party, std::uint64_t blocks, std::uint64_t given,
                      DisputeOrigin origin) {
    Backlog now = backlog(fx.state, party);
    const std::uint64_t ahead = challenges_ahead_max(fx.params), before = end_of(now, fx.height);
    const bool refused = now.challenge_work > ahead;
    now.dispute_work -= blocks;
    close_work(now, blocks, before, fx.height, blocks - std::min(blocks, fx.height - given));
    if (origin != DisputeOrigin::assigned) now.challenge_work -= blocks;
    if (origin == DisputeOrigin::self) --now.own_challenges;
    const bool accepted_again = refused && now.challenge_work <= ahead;
    if (accepted_again) now.challenges_accepted_since = fx.height;
    store(fx.state, keys::backlog(party), now);
    return accepted_again;
}

}  // namespace retrace::contracts
