// SPDX-License-Identifier: MIT
// Official vectors: FIPS 180-4 examples and NIST's SHA test vectors.
#include "merkle/hash/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

namespace retrace::merkle {
namespace {

std::string hex_of(std::string_view text) { return to_hex(view(sha256(view(text)))); }

TEST(Sha256, HashesTheEmptyMessage) {
    EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, HashesOneBlock) {
    EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, HashesTwoBlocksOf448Bits) {
    EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, Hashes896Bits) {
    EXPECT_EQ(hex_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                     "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

TEST(Sha256, HashesAMillionLetters) {
    EXPECT_EQ(hex_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, GivesOneDigestHoweverTheMessageIsCut) {
    const std::string message(200, 'x');
    const Hash32 whole = sha256(view(message));
    for (std::size_t cut = 0; cut <= message.size(); ++cut) {
        const std::string_view text = message;
        EXPECT_EQ(sha256({view(text.substr(0, cut)), view(text.substr(cut))}), whole) << cut;
    }
}

TEST(Sha256, StartsAnewAfterFinish) {
    Sha256 hasher;
    hasher.update(view("something else")).finish();
    EXPECT_EQ(hasher.update(view("abc")).finish(), sha256(view("abc")));
}

TEST(Sha256, TakesIntegersLittleEndian) {
    const Bytes bytes{0x01, 0x05, 0x04, 0x03, 0x02, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, 0x07, 0x06};
    Sha256 hasher;
    hasher.update_u8(1).update_u32(0x02030405).update_u64(0x060708090a0b0c0d);
    EXPECT_EQ(hasher.finish(), sha256(View(bytes)));
}

}  // namespace
}  // namespace retrace::merkle
