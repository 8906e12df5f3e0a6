// SPDX-License-Identifier: MIT
// Keystores, mnemonics and signed messages against known answers (tests/vectors/ethereum).
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "node/wallet/key_folder.hpp"
#include "node/wallet/message.hpp"
#include "node/wallet/mnemonic.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

json::value vectors(const std::string& name) {
    std::ifstream file(std::string(RETRACE_VECTORS) + "/ethereum/" + name);
    std::ostringstream out;
    out << file.rdbuf();
    return json::parse(out.str());
}

Bytes bytes_of(const json::value& v) {
    return *from_hex(text(v));
}

TEST(Keystore, OpensTheKnownFiles) {
    const json::value all = vectors("keystore_v3.json");
    for (const json::value& v : all.at("decrypt").as_array()) {
        const auto key = wallet::decrypt_keystore(json::serialize(v.at("json")), text(v.at("password")));
        ASSERT_TRUE(key.has_value()) << text(v.at("note")) << ": " << key.error().message;
        EXPECT_EQ(to_0x(key->bytes()), text(v.at("privateKey")));
    }
}

TEST(Keystore, RefusesAWrongPassphraseByItsMac) {
    const json::value all = vectors("keystore_v3.json");
    const auto key = wallet::decrypt_keystore(json::serialize(all.at("decrypt").at(0).at("json")),
                                              text(all.at("wrong_password_must_fail_on_mac").at("password")));
    ASSERT_FALSE(key.has_value());
    EXPECT_EQ(key.error().code, wallet::KeystoreError::wrong_passphrase);
}

TEST(Keystore, ComesBackAsItWas) {
    const std::string file = wallet::encrypt_keystore(dev_key(3), "pass phrase", wallet::kLightScrypt);
    const auto key = wallet::decrypt_keystore(file, "pass phrase");
    ASSERT_TRUE(key.has_value());
    EXPECT_EQ(key->address(), dev_key(3).address());
    EXPECT_EQ(wallet::keystore_address(file), dev_key(3).address());
}

TEST(Keystore, NamesWhatIsWrongWithAFile) {
    json::value good = json::parse(wallet::encrypt_keystore(dev_key(3), "p", wallet::kLightScrypt));
    const auto code = [](const json::value& v) {
        const auto key = wallet::decrypt_keystore(json::serialize(v), "p");
        return key ? wallet::KeystoreError{} : key.error().code;
    };
    const auto with = [&good](const char* pointer, json::value v) {
        json::value copy = good;
        *copy.find_pointer(pointer, *std::make_unique<json::error_code>()) = std::move(v);
        return copy;
    };
    EXPECT_EQ(code(1), wallet::KeystoreError::malformed);
    EXPECT_EQ(code(with("/version", 4)), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/crypto", nullptr)), wallet::KeystoreError::malformed);
    EXPECT_EQ(code(with("/crypto/cipher", "aes-256-gcm")), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/crypto/kdf", "argon2")), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/crypto/ciphertext", "00")), wallet::KeystoreError::malformed);
    EXPECT_EQ(code(with("/crypto/mac", json::value(std::string(64, '0')))),
              wallet::KeystoreError::wrong_passphrase);
    EXPECT_EQ(code(with("/crypto/kdfparams/n", 1'000'000'007)), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/crypto/kdfparams/n", 1'073'741'824)), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/crypto/kdfparams/dklen", 16)), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/address", json::value(std::string(40, '1')))), wallet::KeystoreError::bad_key);
    EXPECT_FALSE(wallet::decrypt_keystore(std::string(100'000, ' '), "p").has_value());
}

TEST(KeyFolder, WritesFilesThatOnlyTheOwnerReads) {
    TempFolder folder;
    const wallet::KeyFolder keys(folder.file("keys"));
    EXPECT_TRUE(keys.list().empty());
    const auto path = keys.add(dev_key(1), "p", wallet::kLightScrypt);
    ASSERT_TRUE(path.has_value());
    struct stat info {};
    ASSERT_EQ(::stat(path->c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_FALSE(keys.add(dev_key(1), "p", wallet::kLightScrypt).has_value());
    ASSERT_EQ(keys.list().size(), 1U);
    EXPECT_EQ(keys.find(dev_key(1).address()), *path);
    EXPECT_TRUE(wallet::unlock(*path, "p").has_value());
    EXPECT_FALSE(wallet::unlock(*path, "q").has_value());
}

TEST(Mnemonic, FollowsTheKnownAnswers) {
    const json::value all = vectors("bip39_44.json");
    for (const json::value& v : all.at("mnemonics").as_array()) {
        const std::string words = text(v.at("mnemonic"));
        const std::string passphrase = text(v.at("passphrase"));
        if (v.as_object().contains("entropy") && v.at("entropy").is_string()) {
            EXPECT_EQ(wallet::mnemonic_of(bytes_of(v.at("entropy"))).view(), words);
        }
        const auto seed = wallet::seed_of(words, passphrase);
        ASSERT_TRUE(seed.has_value()) << words;
        EXPECT_EQ(to_0x(View(*seed)), text(v.at("seed")));
        for (const json::value& account : v.at("accounts").as_array()) {
            const auto path = wallet::parse_path(text(account.at("path")));
            ASSERT_TRUE(path.has_value());
            const auto key = wallet::derive(*seed, *path);
            ASSERT_TRUE(key.has_value());
            EXPECT_EQ(to_0x(key->key.bytes()), text(account.at("privateKey")));
        }
    }
}

TEST(Mnemonic, SpellingsOfOnePassphraseAreOne) {
    const std::string words(wallet::mnemonic_of(Bytes(16, 7)).view());
    const auto composed = wallet::seed_of(words, "caf\u00e9");
    const auto decomposed = wallet::seed_of(words, "cafe\u0301");
    ASSERT_TRUE(composed.has_value() && decomposed.has_value());
    EXPECT_EQ(*composed, *decomposed);
    EXPECT_NE(*composed, *wallet::seed_of(words, "cafe"));
    EXPECT_FALSE(wallet::seed_of(words, "caf\xe9").has_value()) << "Latin-1 is no UTF-8";
    EXPECT_FALSE(wallet::seed_of(words, "\xc0\x80").has_value());
}

TEST(Mnemonic, RefusesTheInvalidOnes) {
    const json::value all = vectors("bip39_44.json");
    for (const json::value& v : all.at("invalid_mnemonics").as_array()) {
        EXPECT_FALSE(wallet::entropy_of(text(v.at("mnemonic"))).has_value()) << text(v.at("why"));
    }
}

TEST(Mnemonic, DoesNotMindWhitespace) {
    EXPECT_TRUE(
        wallet::entropy_of("  test test test\ttest test test test test test test test  junk\n").has_value());
}

TEST(Mnemonic, KeepsLeadingZerosOfKeys) {
    const json::value all = vectors("bip39_44.json");
    for (const json::value& v : all.at("bip32").as_array()) {
        const auto path = wallet::parse_path(text(v.at("path")));
        ASSERT_TRUE(path.has_value());
        const auto key = wallet::derive(bytes_of(v.at("seed")), *path);
        ASSERT_TRUE(key.has_value());
        EXPECT_EQ(key->key.bytes().size(), 32U);
    }
}

TEST(Mnemonic, PathsAreStrict) {
    for (const char* bad : {"", "m/", "m//0", "n/0", "m/0x1", "m/2147483648", "m/-1", "m/0''", "m/1h"}) {
        EXPECT_FALSE(wallet::parse_path(bad).has_value()) << bad;
    }
    EXPECT_EQ(wallet::parse_path("m/44'/0")->at(0), 44U | wallet::kHardened);
}

TEST(Message, SignsTextsAsEip191) {
    const json::value all = vectors("eip191.json");
    for (const json::value& v : all.as_array()) {
        const json::value* utf8 = v.as_object().if_contains("utf8");
        const Bytes message = utf8 != nullptr ? to_bytes(view(text(*utf8))) : bytes_of(v.at("bytes"));
        const Hash32 digest = wallet::personal_digest(message);
        EXPECT_EQ(to_0x(view(digest)), text(v.at("digest")));
        const auto key = ledger::SecretKey::from_bytes(bytes_of(v.at("privateKey")));
        const Bytes signature = wallet::sign_digest(*key, digest);
        EXPECT_EQ(to_0x(View(signature)), text(v.at("signature")));
        EXPECT_EQ(wallet::recover_signer(digest, signature), key->address());
    }
}

TEST(Message, SignsTypedDataAsEip712) {
    const json::value all = vectors("eip712.json");
    for (const json::value& v : all.as_array()) {
        const auto digest = wallet::typed_data_digest(json::serialize(v.at("typedData")));
        ASSERT_TRUE(digest.has_value()) << digest.error().message;
        EXPECT_EQ(to_0x(view(*digest)), text(v.at("digest")));
        const auto key = ledger::SecretKey::from_bytes(bytes_of(v.at("privateKey")));
        EXPECT_EQ(to_0x(View(wallet::sign_digest(*key, *digest))), text(v.at("signature")));
    }
}

TEST(Message, RefusesTypedDataThatDoesNotFitItsTypes) {
    const auto digest = [](const std::string& type, const std::string& value) {
        return wallet::typed_data_digest(R"({"types":{"T":[{"name":"x","type":")" + type +
                                         R"("}]},"primaryType":"T","domain":{"name":"d"},"message":{"x":)" +
                                         value + "}}")
            .has_value();
    };
    EXPECT_TRUE(digest("uint8", "255"));
    EXPECT_FALSE(digest("uint8", "256"));
    EXPECT_FALSE(digest("uint8", "-1"));
    EXPECT_TRUE(digest("int8", "-128"));
    EXPECT_FALSE(digest("int8", "-129"));
    EXPECT_FALSE(digest("int8", "128"));
    EXPECT_FALSE(digest("uint7", "1"));
    EXPECT_FALSE(digest("bytes4", "\"0x00\""));
    EXPECT_FALSE(digest("bytes33", "\"0x00\""));
    EXPECT_FALSE(digest("address", "\"0x00\""));
    EXPECT_FALSE(digest("bool", "1"));
    EXPECT_TRUE(digest("uint256[2]", "[1,2]"));
    EXPECT_FALSE(digest("uint256[2]", "[1]"));
    EXPECT_FALSE(digest("T", "{\"x\":{\"x\":1}}"));
    EXPECT_FALSE(digest("]", "1"));
    EXPECT_FALSE(wallet::typed_data_digest("{").has_value());
}

TEST(Message, RefusesBrokenSignatures) {
    const Hash32 digest = wallet::personal_digest(view(std::string_view("x")));
    Bytes signature = wallet::sign_digest(dev_key(0), digest);
    EXPECT_FALSE(wallet::recover_signer(digest, View(signature).first(64)).has_value());
    signature[64] = 29;
    EXPECT_FALSE(wallet::recover_signer(digest, signature).has_value());
}

}  // namespace
}  // namespace retrace::node::test
