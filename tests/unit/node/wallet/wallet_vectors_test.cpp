// SPDX-License-Identifier: MIT
// Compares keystores, mnemonics and signed messages with known answers (tests/vectors/ethereum).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <chrono>
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

Bytes bytes_of(const json::value& v) { return *from_hex(text(v)); }

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
    EXPECT_EQ(code(with("/crypto/mac", json::value(std::string(64, '0')))), wallet::KeystoreError::wrong_passphrase);
    EXPECT_EQ(code(with("/crypto/kdfparams/n", 1'000'000'007)), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/crypto/kdfparams/n", 1'073'741'824)), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/crypto/kdfparams/dklen", 16)), wallet::KeystoreError::unsupported);
    EXPECT_EQ(code(with("/address", json::value(std::string(40, '1')))), wallet::KeystoreError::bad_key);
    EXPECT_FALSE(wallet::decrypt_keystore(std::string(100'000, ' '), "p").has_value());
}

/// A stranger's file may ask for a minute of work at most: a larger one is refused at once, and the error names the
/// limit.
TEST(Keystore, NamesTheLimitOfItsWork) {
    const json::value good = json::parse(wallet::encrypt_keystore(dev_key(3), "p", wallet::kLightScrypt));
    const auto refusal = [&good](const json::object& kdf_params, const char* kdf) {
        json::value copy = good;
        copy.at("crypto").as_object()["kdf"] = kdf;
        for (const auto& [name, value] : kdf_params) copy.at("crypto").at("kdfparams").as_object()[name] = value;
        const auto key = wallet::decrypt_keystore(json::serialize(copy), "p");
        return key ? std::string("opened") : std::string(slug(key.error().code)) + ": " + key.error().message;
    };
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& [n, r, p] : {std::tuple{1'048'576, 8, 9}, {1'048'576, 1, 65}, {2, 1, 1'048'576 * 64}})
        EXPECT_THAT(refusal({{"n", n}, {"r", r}, {"p", p}}, "scrypt"),
                    AllOf(testing::HasSubstr("keystore_unsupported"), testing::HasSubstr("67108864")))
            << n << ' ' << r << ' ' << p;
    for (const std::int64_t rounds : {std::int64_t{10'000'001}, std::int64_t{1} << 40})
        EXPECT_THAT(refusal({{"c", rounds}, {"prf", "hmac-sha256"}}, "pbkdf2"),
                    AllOf(testing::HasSubstr("keystore_unsupported"), testing::HasSubstr("10000000")));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_EQ(refusal({{"n", 4096}, {"r", 8}, {"p", 2}}, "scrypt").substr(0, 16), "wrong_passphrase");
}

/// ethers normalises to NFKC, since keyboards and systems encode the same letters in several ways.
TEST(Keystore, SpellingsOfOnePassphraseOpenIt) {
    const json::value all = vectors("keystore_v3.json");
    const json::value& made_by_ethers = all.at("decrypt").at(3);
    ASSERT_EQ(text(made_by_ethers.at("password")), "пароль é");
    const auto key = wallet::decrypt_keystore(json::serialize(made_by_ethers.at("json")), "пароль e\u0301");
    ASSERT_TRUE(key.has_value()) << key.error().message;
    EXPECT_EQ(to_0x(key->bytes()), text(made_by_ethers.at("privateKey")));

    const std::string file = wallet::encrypt_keystore(dev_key(3), "cafe\u0301 \ufb01", wallet::kLightScrypt);
    for (const char* spelling : {"caf\u00e9 fi", "cafe\u0301 fi", "caf\u00e9 \ufb01"})
        EXPECT_TRUE(wallet::decrypt_keystore(file, spelling).has_value()) << spelling;
    const auto other = wallet::decrypt_keystore(file, "caf\u00e8 fi");
    ASSERT_FALSE(other.has_value());
    EXPECT_EQ(other.error().code, wallet::KeystoreError::wrong_passphrase);
    EXPECT_THAT(other.error().message, testing::HasSubstr("NFKC"));
    EXPECT_THAT(wallet::decrypt_keystore(file, "caf\xe9").error().message, testing::HasSubstr("no UTF-8"));
    const std::string latin = wallet::encrypt_keystore(dev_key(3), "caf\xe9", wallet::kLightScrypt);
    EXPECT_TRUE(wallet::decrypt_keystore(latin, "caf\xe9").has_value()) << "the bytes as they are";
}

/// The address is optional in the format, and omitted if it is to stay private.
TEST(KeyFolder, ListsKeystoresThatDoNotSayTheirAddress) {
    TempFolder folder;
    const wallet::KeyFolder keys(folder.file("keys"));
    ASSERT_TRUE(keys.add(dev_key(1), "p", wallet::kLightScrypt).has_value());
    json::value silent = json::parse(wallet::encrypt_keystore(dev_key(2), "p", wallet::kLightScrypt));
    silent.as_object().erase("address");
    std::ofstream(folder.file("keys") + "/0-silent.json") << json::serialize(silent);
    std::ofstream(folder.file("keys") + "/note.json") << R"({"version":3})";
    const auto files = keys.list();
    ASSERT_EQ(files.size(), 2U);
    EXPECT_EQ(files[0].address, dev_key(1).address());
    EXPECT_FALSE(files[1].address.has_value());
    EXPECT_EQ(wallet::unlock(files[1].path, "p")->address(), dev_key(2).address());
    EXPECT_FALSE(keys.find(dev_key(2).address()).has_value());
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

TEST(Mnemonic, AccountsOfWordsWithAPassphraseAreThoseOfEthers) {
    const json::value all = vectors("bip39_44.json");
    for (const json::value& v : all.at("mnemonics").as_array()) {
        const json::value& account = v.at("accounts").at(1);
        ASSERT_EQ(text(account.at("path")), "m/44'/60'/0'/0/1");
        const auto key = wallet::account_key(text(v.at("mnemonic")), text(v.at("passphrase")), 1);
        ASSERT_TRUE(key.has_value());
        EXPECT_EQ(to_0x(key->bytes()), text(account.at("privateKey")));
    }
}

TEST(Mnemonic, AnAccountIsNoHardenedKey) {
    const std::string words(wallet::mnemonic_of(Bytes(16, 7)).view());
    EXPECT_TRUE(wallet::account_key(words, "", 0x7FFF'FFFFU).has_value());
    for (const std::uint32_t index : {0x8000'0000U, 0xFFFF'FFFFU}) {
        const auto key = wallet::account_key(words, "", index);
        ASSERT_FALSE(key.has_value()) << index;
        EXPECT_THAT(key.error().message, testing::HasSubstr("below 2^31"));
    }
}

TEST(Mnemonic, RefusesTheInvalidOnes) {
    const json::value all = vectors("bip39_44.json");
    for (const json::value& v : all.at("invalid_mnemonics").as_array()) {
        EXPECT_FALSE(wallet::entropy_of(text(v.at("mnemonic"))).has_value()) << text(v.at("why"));
    }
}

TEST(Mnemonic, DoesNotMindWhitespace) {
    EXPECT_TRUE(wallet::entropy_of("  test test test\ttest test test test test test test test  junk\n").has_value());
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
                                         R"("}]},"primaryType":"T","domain":{"name":"d"},"message":{"x":)" + value +
                                         "}}")
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

/// Input that ethers refuses is refused here too: a mistyped address, ambiguous types.
TEST(Message, RefusesTypedDataThatEthersRefuses) {
    const auto digest = [](const std::string& types, const std::string& message) {
        const auto out = wallet::typed_data_digest(
            R"({"types":{)" + types + R"(},"primaryType":"T","domain":{"name":"d"},"message":)" + message + "}");
        return out ? std::string("signed") : out.error().message;
    };
    const auto to = [&digest](const std::string& address) {
        return digest(R"("T":[{"name":"to","type":"address"}])", R"({"to":")" + address + "\"}");
    };
    EXPECT_EQ(to("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), "signed");
    EXPECT_EQ(to("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"), "signed");
    EXPECT_EQ(to("0xF39FD6E51AAD88F6F4CE6AB8827279CFFFB92266"), "signed");
    EXPECT_THAT(to("0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), testing::HasSubstr("EIP-55"));
    const std::string number = R"([{"name":"x","type":"uint8"}])";
    EXPECT_EQ(digest("\"T\":" + number, R"({"x":1})"), "signed");
    EXPECT_EQ(digest(R"("T":[{"name":"a","type":"A[]"}],"A":)" + number, R"({"a":[{"x":1}]})"), "signed");
    EXPECT_THAT(digest("\"T\":" + number + ",\"Other\":" + number, R"({"x":1})"), testing::HasSubstr("Other"));
    EXPECT_THAT(digest(R"("T":[{"name":"t","type":"T[]"}])", R"({"t":[]})"), testing::HasSubstr("contains itself"));
    EXPECT_THAT(digest(R"("T":[{"name":"a","type":"A"}],"A":[{"name":"t","type":"T[]"}])", R"({"a":{"t":[]}})"),
                testing::HasSubstr("contains itself"));
    EXPECT_THAT(digest(R"("T":[{"name":"x","type":"uint8"},{"name":"x","type":"bool"}])", R"({"x":1})"),
                testing::HasSubstr("two members named x"));
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
