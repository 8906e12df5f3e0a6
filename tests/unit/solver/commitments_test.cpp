// SPDX-License-Identifier: MIT
#include "solver/commitments.hpp"

#include <gtest/gtest.h>

#include "merkle/base/codec.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::solver {
namespace {

Hash32 filled(std::uint8_t byte) {
    Hash32 hash;
    hash.bytes.fill(byte);
    return hash;
}

TEST(Commitments, HashTheLayoutOfTheSpecification) {
    Writer checkpoint;
    checkpoint.raw(view("retrace/checkpoint/1")).u64(7).u32(2).u64(9).hash(filled(1)).hash(filled(2));
    EXPECT_EQ(checkpoint_commitment(7, 2, 9, filled(1), filled(2)), merkle::sha256(checkpoint.data()));

    PartyId auditor;
    auditor.fill(0xaa);
    Writer verdict;
    verdict.raw(view("retrace/verdict/1")).u64(3).raw(auditor).hash(filled(4)).hash(filled(5));
    EXPECT_EQ(verdict_commitment(filled(5), filled(4), auditor, 3), merkle::sha256(verdict.data()));

    Writer salt;
    salt.raw(view("retrace/salt/1")).hash(filled(6)).u64(7).u32(2).u64(9);
    EXPECT_EQ(checkpoint_salt(filled(6), 7, 2, 9), merkle::sha256(salt.data()));
}

TEST(Commitments, EveryArgumentCounts) {
    const Hash32 base = checkpoint_commitment(1, 1, 1, filled(1), filled(1));
    EXPECT_NE(base, checkpoint_commitment(2, 1, 1, filled(1), filled(1)));
    EXPECT_NE(base, checkpoint_commitment(1, 2, 1, filled(1), filled(1)));
    EXPECT_NE(base, checkpoint_commitment(1, 1, 2, filled(1), filled(1)));
    EXPECT_NE(base, checkpoint_commitment(1, 1, 1, filled(2), filled(1)));
    EXPECT_NE(base, checkpoint_commitment(1, 1, 1, filled(1), filled(2)));
    PartyId a{}, b{};
    b[19] = 1;
    EXPECT_NE(verdict_commitment(filled(1), filled(1), a, 1), verdict_commitment(filled(1), filled(1), b, 1));
    EXPECT_NE(checkpoint_salt(filled(1), 1, 1, 1), bid_salt(filled(1), 1, 1));
}

TEST(Commitments, BeaconChainsRunBackwards) {
    const Hash32 head = beacon_value(filled(1), 0, 10), before = beacon_value(filled(1), 0, 9);
    EXPECT_EQ(beacon_link(before), head);
    EXPECT_NE(beacon_value(filled(1), 1, 10), head);
    EXPECT_NE(beacon_value(filled(2), 0, 10), head);
}

}  // namespace
}  // namespace retrace::solver
