// SPDX-License-Identifier: MIT
#include "ledger/chain/state_proof.hpp"

#include <gtest/gtest.h>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/tree_page.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::bytes;
using test::key;
using test::number;
using test::World;

struct Proofs : testing::Test {
    Proofs() : world(store, {.state_window = 1024, .proof_window = 6}) {
        for (std::uint64_t i = 0; i < 10; ++i) {
            world.block({sign_tx(test::transfer(i, number(i), 1), key(0)),
                         sign_tx(test::call(i, Bytes{'s', 'k', static_cast<std::uint8_t>(i + 1)}), key(1))});
        }
    }
    MemoryStore store;
    World world;
};

TEST_F(Proofs, ShowAccountsAndSlotsAtEveryKeptHeight) {
    for (std::uint64_t height = 4; height <= 10; ++height) {
        SCOPED_TRACE(height);
        const Hash32 root = world.chain->header(height)->state_root;
        const auto account = world.chain->prove_account(height, key(0).address());
        ASSERT_TRUE(account) << account.error().message;
        EXPECT_TRUE(verify(*account));
        EXPECT_EQ(account->state_root, root);
        EXPECT_EQ(account->leaf_key, account_leaf_key(key(0).address()));
        EXPECT_EQ(decode_account(account->value)->nonce, height);
        const auto slot = world.chain->prove_slot(height, test::kContract, bytes("k"));
        ASSERT_TRUE(slot);
        EXPECT_TRUE(verify(*slot));
        EXPECT_EQ(slot->value, Bytes{static_cast<std::uint8_t>(height)});
        const auto absent = world.chain->prove_account(height, number(height));  // funded one block later
        ASSERT_TRUE(absent);
        EXPECT_TRUE(absent->value.empty());
        EXPECT_TRUE(verify(*absent));
    }
    EXPECT_EQ(world.chain->prove_account(3, number(1)).error().code, ChainError::not_kept);
    EXPECT_EQ(world.chain->prove_account(11, number(1)).error().code, ChainError::not_kept);
}

// Forty accounts more than one page of the tree holds: proofs of earlier heights use the pages as they were then.
TEST(ManyAccounts, AreProvedAtHeightsBeforeAndAfterAPageWasSplit) {
    MemoryStore store;
    World world(store);
    constexpr std::uint64_t kHeights = 9, kEach = 8;
    for (std::uint64_t height = 1; height <= kHeights; ++height) {
        std::vector<TxPtr> txs;
        for (std::uint64_t i = 0; i < kEach; ++i) {
            const std::uint64_t n = (height - 1) * kEach + i;
            txs.push_back(sign_tx(test::transfer(n, number(n), 1), key(0)));
        }
        world.block(txs);
    }
    EXPECT_EQ(store.get(keys::page({0, 0})).value().at(0), kMany);
    for (std::uint64_t height = 1; height <= kHeights; ++height) {
        for (std::uint64_t n = 0; n < kHeights * kEach; n += 3) {
            const auto proof = world.chain->prove_account(height, number(n));
            ASSERT_TRUE(proof) << proof.error().message;
            ASSERT_TRUE(verify(*proof)) << "account " << n << " at height " << height;
            EXPECT_EQ(proof->state_root, world.chain->header(height)->state_root);
            EXPECT_EQ(proof->value.empty(), n >= height * kEach);
        }
    }
}

TEST_F(Proofs, ArePaidForByWhatTheyGoThroughAndEndWhenToldSo) {
    std::size_t asked = 0, paid = 0;
    const WorkMeter count = [&](std::size_t work) {
        ++asked;
        paid += work;
        return true;
    };
    ASSERT_TRUE(world.chain->prove_account(10, number(1), count));
    EXPECT_EQ(asked, 0U) << "nothing has to be taken back";
    ASSERT_TRUE(world.chain->prove_account(5, key(0).address(), count));
    EXPECT_EQ(asked, 10U) << "before and after each of five records";
    EXPECT_GE(paid, 5U);
    for (std::size_t last = 1; last <= 10; ++last) {
        asked = 0;
        const auto proof = world.chain->prove_account(5, number(7), [&](std::size_t) { return ++asked < last; });
        ASSERT_FALSE(proof);
        EXPECT_EQ(proof.error().code, ChainError::stopped);
        EXPECT_EQ(asked, last) << "nothing more is done";
    }
}

TEST_F(Proofs, LiesAreRefused) {
    const StateProof good = world.chain->prove_slot(10, test::kContract, bytes("k")).value();
    StateProof lie = good;
    lie.value = Bytes{99};
    EXPECT_FALSE(verify(lie));
    lie = good;
    lie.value.clear();
    EXPECT_FALSE(verify(lie)) << "a value that is there, shown as absent";
    lie = good;
    lie.leaf_key = slot_leaf_key(test::kContract, bytes("other"));
    EXPECT_FALSE(verify(lie));
    lie = good;
    lie.state_root = world.chain->header(9)->state_root;
    EXPECT_FALSE(verify(lie));
    lie = world.chain->prove_slot(10, test::kContract, bytes("nothing")).value();
    EXPECT_TRUE(verify(lie));
    lie.value = Bytes{1};
    EXPECT_FALSE(verify(lie)) << "a value that is absent, shown as there";
}

TEST_F(Proofs, EncodeAndDecode) {
    const StateProof proof = world.chain->prove_account(10, key(1).address()).value();
    Writer out;
    encode_to(out, proof);
    Reader in(out.data());
    const StateProof decoded = decode_state_proof(in);
    ASSERT_TRUE(in.finish());
    EXPECT_TRUE(verify(decoded));
    EXPECT_EQ(decoded.value, proof.value);
    for (std::size_t size = 0; size < out.data().size(); ++size) {
        Reader cut(View(out.data()).first(size));
        decode_state_proof(cut);
        EXPECT_FALSE(cut.finish()) << size;
    }
}

TEST(Account, TheZeroAccountHasNoEncoding) {
    EXPECT_TRUE(encode(Account{}).empty());
    EXPECT_EQ(decode_account({}), Account{});
    EXPECT_FALSE(decode_account(Bytes(40))) << "the zero account spelled out";
    EXPECT_FALSE(decode_account(Bytes(39, 1)));
    EXPECT_FALSE(decode_account(Bytes(41, 1)));
    EXPECT_EQ(decode_account(encode(Account{7, 9})), (Account{7, 9}));
}

}  // namespace
}  // namespace retrace::ledger
