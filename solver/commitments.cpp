// SPDX-License-Identifier: MIT
#include "solver/commitments.hpp"

#include <string_view>

#include "merkle/hash/sha256.hpp"

namespace retrace::solver {
namespace {

merkle::Sha256 tagged(std::string_view tag) {
    merkle::Sha256 hash;
    hash.update(view(tag));
    return hash;
}

}  // namespace

Hash32 checkpoint_commitment(std::uint64_t task, std::uint32_t run, std::uint64_t index, const Hash32& salt,
                             const Hash32& state_root) {
    merkle::Sha256 hash = tagged("retrace/checkpoint/1");
    hash.update_u64(task).update_u32(run).update_u64(index).update(view(salt)).update(view(state_root));
    return hash.finish();
}

Hash32 verdict_commitment(const Hash32& state_root, const Hash32& salt, const PartyId& auditor, std::uint64_t audit) {
    merkle::Sha256 hash = tagged("retrace/verdict/1");
    hash.update_u64(audit).update(View(auditor)).update(view(salt)).update(view(state_root));
    return hash.finish();
}

Hash32 checkpoint_salt(const Hash32& secret, std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    merkle::Sha256 hash = tagged("retrace/salt/1");
    hash.update(view(secret)).update_u64(task).update_u32(run).update_u64(index);
    return hash.finish();
}

Hash32 verdict_salt(const Hash32& secret, std::uint64_t audit) {
    merkle::Sha256 hash = tagged("retrace/verdict-salt/1");
    hash.update(view(secret)).update_u64(audit);
    return hash.finish();
}

Hash32 bid_salt(const Hash32& secret, std::uint64_t task, std::uint32_t round) {
    merkle::Sha256 hash = tagged("retrace/bid-salt/1");
    hash.update(view(secret)).update_u64(task).update_u32(round);
    return hash.finish();
}

Hash32 holding_salt(const Hash32& secret, std::uint64_t task, std::uint32_t run, std::uint32_t round, View bitmap) {
    merkle::Sha256 hash = tagged("retrace/holding-salt/1");
    hash.update(view(secret)).update_u64(task).update_u32(run).update_u32(round).update(bitmap);
    return hash.finish();
}

Hash32 beacon_link(const Hash32& preimage) {
    merkle::Sha256 hash = tagged("retrace/beacon/1");
    hash.update(view(preimage));
    return hash.finish();
}

Hash32 beacon_value(const Hash32& secret, std::uint64_t chain, std::uint64_t steps) {
    merkle::Sha256 hash = tagged("retrace/beacon-start/1");
    hash.update(view(secret)).update_u64(chain);
    Hash32 value = hash.finish();
    for (std::uint64_t i = 0; i < steps; ++i) value = beacon_link(value);
    return value;
}

}  // namespace retrace::solver
