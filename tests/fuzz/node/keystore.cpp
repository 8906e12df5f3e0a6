// SPDX-License-Identifier: MIT
// Keystore files, mnemonics, paths and typed data that a user pastes into the wallet. A naive reader of keystores gives
// the same results.
#include "node/wallet/keystore.hpp"

#include <cstdlib>

#include "ledger/crypto/kdf.hpp"
#include "ledger/crypto/keccak.hpp"
#include "node/wallet/message.hpp"
#include "node/wallet/mnemonic.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "tests/fuzz/node/naive_json.hpp"

namespace retrace::fuzz {
namespace {

using namespace node::wallet;

constexpr std::string_view kPassphrase = "fuzz";
constexpr std::string_view kWords = "test test test test test test test test test test test junk";
constexpr std::string_view kTypedData = R"({"types":{"EIP712Domain":[{"name":"name","type":"string"},{"name":"chainId",
"type":"uint256"}],"Mail":[{"name":"from","type":"address"},{"name":"amounts","type":"uint64[]"},{"name":"text",
"type":"string"}]},"primaryType":"Mail","domain":{"name":"Retrace","chainId":7298},"message":{"from":
"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","amounts":[1,"0x2"],"text":"hello"}})";

// --- the naive reader: the fields of a V3 file one after the other, as the format's page lists them ---

enum class Opened { no_keystore, wrong_passphrase, key };

std::optional<std::string> text_at(const naive::Json* object, const std::string& name) {
    const naive::Json* found = object != nullptr ? object->member(name) : nullptr;
    if (found == nullptr || found->kind != naive::Json::Kind::string) return std::nullopt;
    return found->text;
}
std::optional<Bytes> bytes_at(const naive::Json* object, const std::string& name, std::size_t size) {
    const auto text = text_at(object, name);
    auto bytes = text ? from_hex(*text) : std::nullopt;
    if (!bytes || (size != 0 && bytes->size() != size)) return std::nullopt;
    return bytes;
}
std::optional<std::uint64_t> number_at(const naive::Json* object, const std::string& name) {
    const naive::Json* found = object != nullptr ? object->member(name) : nullptr;
    if (found == nullptr || found->kind != naive::Json::Kind::number) return std::nullopt;
    char* end = nullptr;
    errno = 0;
    const long long number = std::strtoll(found->text.c_str(), &end, 10);
    if (errno != 0 || *end != '\0' || number < 0) return std::nullopt;
    return static_cast<std::uint64_t>(number);
}
const naive::Json* object_at(const naive::Json* object, const std::string& name) {
    const naive::Json* found = object != nullptr ? object->member(name) : nullptr;
    return found != nullptr && found->kind == naive::Json::Kind::object ? found : nullptr;
}

std::optional<Bytes> derived_by_twin(const naive::Json* crypto) {
    const naive::Json* params = object_at(crypto, "kdfparams");
    const auto kdf = text_at(crypto, "kdf");
    const auto salt = bytes_at(params, "salt", 0);
    if (!kdf || !salt || number_at(params, "dklen") != 32u) return std::nullopt;
    Result<Bytes> out = error("");
    if (*kdf == "scrypt") {
        const auto n = number_at(params, "n"), r = number_at(params, "r"), p = number_at(params, "p");
        if (!n || !r || !p || *r > UINT32_MAX || *p > UINT32_MAX) return std::nullopt;
        out = ledger::scrypt(view(kPassphrase), *salt,
                             {*n, static_cast<std::uint32_t>(*r), static_cast<std::uint32_t>(*p)}, 32);
    } else if (*kdf == "pbkdf2") {
        const auto rounds = number_at(params, "c");
        if (!rounds || *rounds > UINT32_MAX || text_at(params, "prf") != "hmac-sha256") return std::nullopt;
        out = ledger::pbkdf2_hmac_sha256(view(kPassphrase), *salt, static_cast<std::uint32_t>(*rounds), 32);
    }
    return out ? std::optional(*std::move(out)) : std::nullopt;
}

Opened opened_by_twin(std::string_view text, Bytes& secret) {
    if (text.size() > 64 * 1024) return Opened::no_keystore;
    const auto file = naive::JsonReader(text, 8).read();
    if (!file || file->kind != naive::Json::Kind::object || number_at(&*file, "version") != 3u)
        return Opened::no_keystore;
    const naive::Json* crypto = object_at(&*file, file->member("crypto") != nullptr ? "crypto" : "Crypto");
    const auto iv = bytes_at(object_at(crypto, "cipherparams"), "iv", 16);
    const auto ciphertext = bytes_at(crypto, "ciphertext", 32), mac = bytes_at(crypto, "mac", 32);
    if (text_at(crypto, "cipher") != "aes-128-ctr" || !iv || !ciphertext || !mac) return Opened::no_keystore;
    const auto derived = derived_by_twin(crypto);
    if (!derived) return Opened::no_keystore;
    Bytes tagged(derived->begin() + 16, derived->end());
    tagged.insert(tagged.end(), ciphertext->begin(), ciphertext->end());
    if (!equal(view(ledger::keccak256(tagged)), *mac)) return Opened::wrong_passphrase;
    secret = ledger::aes_128_ctr(View(*derived).first(16), *iv, *ciphertext);
    return Opened::key;
}

void open_keystore(std::string_view text) {
    (void)keystore_address(text);
    const auto key = decrypt_keystore(text, kPassphrase);
    Bytes secret;
    const Opened twin = opened_by_twin(text, secret);
    const bool wrong = !key && key.error().code == KeystoreError::wrong_passphrase;
    const bool bad_key = !key && key.error().code == KeystoreError::bad_key;
    require(wrong == (twin == Opened::wrong_passphrase), "both find the same passphrases wrong");
    require((key || bad_key) == (twin == Opened::key), "both open the same files");
    if (!key) return;
    require(equal(key->bytes(), secret), "both find the same key");
    const std::optional<ledger::Address> claimed = keystore_address(text);
    require(!claimed || *claimed == key->address(), "a file holds the key that it claims");
}

}  // namespace

std::vector<Bytes> seeds() {
    // A scrypt cost of two, since the key derivation is not under test here.
    const auto key = ledger::SecretKey::from_bytes(Bytes(32, 9));
    const std::string file = encrypt_keystore(*key, kPassphrase, {2, 1, 1});
    // The same key with PBKDF2 and a capital letter, as old writers have it.
    const Bytes salt(8, 1), iv(16, 2);
    const Bytes derived = *ledger::pbkdf2_hmac_sha256(view(kPassphrase), salt, 1, 32);
    const Bytes ciphertext = ledger::aes_128_ctr(View(derived).first(16), iv, key->bytes());
    Bytes tagged(derived.begin() + 16, derived.end());
    tagged.insert(tagged.end(), ciphertext.begin(), ciphertext.end());
    const std::string old = R"({"version":3,"Crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":")" + to_hex(iv) +
                            R"("},"ciphertext":")" + to_hex(ciphertext) +
                            R"(","kdf":"pbkdf2","kdfparams":{"c":1,"dklen":32,"prf":"hmac-sha256","salt":")" +
                            to_hex(salt) + R"("},"mac":")" + to_hex(view(ledger::keccak256(tagged))) + R"("}})";
    return {with_kind(0, view(file)), with_kind(0, view(old)), with_kind(1, view(kWords)),
            with_kind(2, view(std::string_view("m/44'/60'/0'/0/0"))), with_kind(3, view(kTypedData))};
}

void run(View input) {
    Choices choices(input);
    const std::size_t kind = choices.below(4);
    const View bytes = choices.rest();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    switch (kind) {
        case 0: open_keystore(text); break;
        case 1:
            if (const auto entropy = entropy_of(text))
                require(*entropy_of(mnemonic_of(*entropy).view()) == *entropy, "words and entropy are one");
            break;
        case 2:
            if (const auto path = parse_path(text)) require(path->size() <= 16, "a path is short");
            break;
        default: (void)typed_data_digest(text); break;
    }
}

}  // namespace retrace::fuzz
