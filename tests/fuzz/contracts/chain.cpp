// SPDX-License-Identifier: MIT
// Whole games on a ledger of the native contracts: tens of parties, tasks, audits, disputes and reports, blocks and
// restarts, with parameters at the edges of their ranges. The properties are listed in tests/stateful/SPEC.md. An input
// is a seed of eight bytes, followed by the first choices of the game.
#include "tests/fuzz/driver/target.hpp"
#include "tests/stateful/games.hpp"

namespace retrace::fuzz {
namespace {

constexpr std::uint64_t kCalls = 400;

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint8_t i = 0; i < 24; ++i) out.push_back(Bytes{i, 0, 0, 0, 0, 0, 0, 0});
    return out;
}

void run(View input) {
    if (input.size() < 8) return;
    stateful::Draws draws(load_u64(input.data()), input.subspan(8));
    stateful::Profile profile = stateful::profile_of(draws);
    profile.calls = std::min(profile.calls, kCalls);
    stateful::Options options;
    options.restart_every = 8;
    options.limits.call_seconds = options.limits.block_seconds = 20;  // Sanitizers are slow.
    stateful::World world(profile.params, profile.accounts, options);
    try {
        stateful::play(world, profile, draws);
    } catch (const stateful::Failure& failure) {
        require(false, failure.what());
    }
}

}  // namespace retrace::fuzz
