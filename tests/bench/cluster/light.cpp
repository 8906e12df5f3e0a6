// SPDX-License-Identifier: MIT
#include <ctime>

#include "ledger/crypto/ed25519.hpp"
#include "ledger/exec/validator.hpp"
#include "node/light/verify.hpp"
#include "tests/bench/cluster/measurements.hpp"
#include "tests/bench/ledger/load.hpp"

namespace retrace::bench {
namespace {

using namespace node::light;

constexpr std::uint8_t kSigners = 100;
constexpr double kLimit = 8;  // ms

Bytes seed(std::uint8_t i) { return Bytes(32, static_cast<std::uint8_t>(i + 1)); }

/// A block that all validators signed.
LightBlock signed_block(std::int64_t height, std::int64_t now) {
    LightBlock out;
    for (std::uint8_t i = 0; i < kSigners; ++i) out.validators.push_back({ledger::ed25519_public_key(seed(i)), 10});
    out.header.block_version = 11;
    out.header.chain_id = "bench";
    out.header.height = height;
    out.header.time = {now - 100 + height, 0};
    out.header.validators_hash = out.header.next_validators_hash = to_bytes(view(hash_of(out.validators)));
    out.header.app_hash = Bytes(32, 7);
    out.header.proposer = Bytes(20, 3);
    out.commit.height = height;
    out.commit.block = {to_bytes(view(hash_of(out.header))), 1, Bytes(32, 1)};
    for (std::uint8_t i = 0; i < kSigners; ++i) {
        const auto address = ledger::consensus_address(out.validators[i].key);
        Vote vote{kForBlock, Bytes(address.begin(), address.end()), out.header.time, {}};
        const auto signature = ledger::ed25519_sign(seed(i), signed_bytes(out.header.chain_id, out.commit, vote));
        vote.signature.assign(signature.begin(), signature.end());
        out.commit.votes.push_back(std::move(vote));
    }
    return out;
}

/// Milliseconds of one verification: the median of 50.
double timed(const LightBlock& trusted, const LightBlock& fresh, std::int64_t now) {
    std::vector<double> samples;
    for (int i = 0; i < 50; ++i) {
        const Clock::time_point start = Clock::now();
        const bool valid = verify(trusted, fresh, {now, 0}).has_value();
        samples.push_back(valid ? 1e3 * seconds_since(start) : 0);
    }
    return median(samples);
}

}  // namespace

std::vector<Row> measure_light(const ClusterOptions&) {
    const std::int64_t now = std::time(nullptr);
    const LightBlock trusted = signed_block(5, now);
    return {{"light_verify", "ms", "limit, the next header", timed(trusted, signed_block(6, now), now), kLimit},
            {"light_verify_far", "ms", "limit, a later header", timed(trusted, signed_block(50, now), now), kLimit}};
}

}  // namespace retrace::bench
