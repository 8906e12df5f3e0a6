// SPDX-License-Identifier: MIT
#include "node/wallet/keystore.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "ledger/crypto/eip55.hpp"
#include "ledger/crypto/kdf.hpp"
#include "ledger/crypto/keccak.hpp"
#include "ledger/crypto/secret.hpp"
#include "node/wallet/unicode.hpp"
#include "node/wallet/wipe_stack.hpp"

namespace retrace::node::wallet {
namespace {

namespace json = boost::json;

constexpr std::size_t kFileMax = 64 * 1024;
constexpr std::size_t kDepthMax = 8;
constexpr std::size_t kDerivedSize = 32;
constexpr std::uint64_t kScryptWorkMax = std::uint64_t{1} << 26;

Unexpected<KeystoreFailure> fail(KeystoreError code, std::string message) {
    return {KeystoreFailure{code, std::move(message)}};
}
Unexpected<KeystoreFailure> malformed(const std::string& what) {
    return fail(KeystoreError::malformed, "not a keystore file: " + what);
}

template <class T>
using Read = Result<T, KeystoreFailure>;

Read<const json::object*> object_of(const json::object& from, const char* name) {
    const json::value* v = from.if_contains(name);
    const json::object* object = v != nullptr ? v->if_object() : nullptr;
    if (object == nullptr) return malformed(std::string(name) + " is missing");
    return object;
}

Read<std::string> text_of(const json::object& from, const char* name) {
    const json::value* v = from.if_contains(name);
    const json::string* text = v != nullptr ? v->if_string() : nullptr;
    if (text == nullptr) return malformed(std::string(name) + " is missing");
    return std::string(text->data(), text->size());
}

Read<Bytes> bytes_of(const json::object& from, const char* name) {
    RETRACE_TRY(text, text_of(from, name));
    auto bytes = from_hex(text);
    if (!bytes) return malformed(std::string(name) + " is not hex");
    return *std::move(bytes);
}

Read<std::uint64_t> number_of(const json::object& from, const char* name) {
    const json::value* v = from.if_contains(name);
    if (v == nullptr || !v->is_int64() || v->get_int64() < 0) return malformed(std::string(name) + " is no number");
    return static_cast<std::uint64_t>(v->get_int64());
}

/// Accepts "Crypto" too, as some writers spell it.
Read<json::object> parse_crypto(std::string_view text) {
    if (text.size() > kFileMax) return malformed("over 64 KiB");
    json::parse_options options;
    options.max_depth = kDepthMax;
    json::error_code failed;
    const json::value document = json::parse({text.data(), text.size()}, failed, {}, options);
    const json::object* object = failed ? nullptr : document.if_object();
    if (object == nullptr) return malformed("no JSON object");
    RETRACE_TRY(version, number_of(*object, "version"));
    if (version != 3) return fail(KeystoreError::unsupported, "keystore version " + std::to_string(version));
    RETRACE_TRY(crypto, object_of(*object, object->contains("crypto") ? "crypto" : "Crypto"));
    return *crypto;
}

Read<Bytes> derive_key(const json::object& crypto, std::string_view passphrase) {
    RETRACE_TRY(kdf, text_of(crypto, "kdf"));
    RETRACE_TRY(params, object_of(crypto, "kdfparams"));
    RETRACE_TRY(salt, bytes_of(*params, "salt"));
    RETRACE_TRY(size, number_of(*params, "dklen"));
    if (size != kDerivedSize) return fail(KeystoreError::unsupported, "dklen " + std::to_string(size));
    Result<Bytes> derived = error("");
    if (kdf == "scrypt") {
        RETRACE_TRY(n, number_of(*params, "n"));
        RETRACE_TRY(r, number_of(*params, "r"));
        RETRACE_TRY(p, number_of(*params, "p"));
        if (r > UINT32_MAX || p > UINT32_MAX) return fail(KeystoreError::unsupported, "scrypt: r or p over the limit");
        if (r != 0 && p != 0 && n > kScryptWorkMax / r / p)
            return fail(KeystoreError::unsupported, "scrypt: n * r * p is over the limit of " +
                                                        std::to_string(kScryptWorkMax) +
                                                        " (2^26), which takes up to a minute");
        derived = ledger::scrypt(view(passphrase), salt,
                                 {n, static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(p)}, kDerivedSize);
    } else if (kdf == "pbkdf2") {
        RETRACE_TRY(prf, text_of(*params, "prf"));
        RETRACE_TRY(rounds, number_of(*params, "c"));
        if (prf != "hmac-sha256") return fail(KeystoreError::unsupported, "pbkdf2 with " + prf);
        if (rounds > ledger::kPbkdf2RoundsMax)
            return fail(KeystoreError::unsupported, "pbkdf2: " + std::to_string(rounds) +
                                                        " rounds are over the limit of " +
                                                        std::to_string(ledger::kPbkdf2RoundsMax));
        derived = ledger::pbkdf2_hmac_sha256(view(passphrase), salt, static_cast<std::uint32_t>(rounds), kDerivedSize);
    } else {
        return fail(KeystoreError::unsupported, "key derivation " + kdf.substr(0, 32));
    }
    if (!derived) return fail(KeystoreError::unsupported, derived.error().message);
    return std::move(derived).value();
}

Hash32 mac_of(View derived, View ciphertext) { return ledger::keccak256({derived.subspan(16, 16), ciphertext}); }

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string random_uuid() {
    std::array<std::uint8_t, 16> bytes{};
    ledger::random_bytes(bytes);
    bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x40U);  // version 4
    bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);  // RFC 4122
    const std::string hex = to_hex(bytes);
    return hex.substr(0, 8) + '-' + hex.substr(8, 4) + '-' + hex.substr(12, 4) + '-' + hex.substr(16, 4) + '-' +
           hex.substr(20);
}

/// Not inlined, so that its stack frame is wiped after it has returned.
[[gnu::noinline]] Result<ledger::SecretKey, KeystoreFailure> unlocked(std::string_view text,
                                                                      std::string_view passphrase) {
    RETRACE_TRY(crypto, parse_crypto(text));
    RETRACE_TRY(cipher, text_of(crypto, "cipher"));
    if (cipher != "aes-128-ctr") return fail(KeystoreError::unsupported, "cipher " + cipher.substr(0, 32));
    RETRACE_TRY(cipher_params, object_of(crypto, "cipherparams"));
    RETRACE_TRY(iv, bytes_of(*cipher_params, "iv"));
    RETRACE_TRY(ciphertext, bytes_of(crypto, "ciphertext"));
    RETRACE_TRY(mac, bytes_of(crypto, "mac"));
    if (iv.size() != 16 || ciphertext.size() != 32 || mac.size() != 32) {
        return malformed("iv, ciphertext or mac has a wrong length");
    }
    RETRACE_TRY(derived, derive_key(crypto, passphrase));
    if (!equal(view(mac_of(derived, ciphertext)), mac)) {
        ledger::wipe(derived);
        return fail(KeystoreError::wrong_passphrase, "wrong passphrase, or the keystore file is damaged");
    }
    Bytes secret = ledger::aes_128_ctr(View(derived).first(16), iv, ciphertext);
    auto key = ledger::SecretKey::from_bytes(secret);
    ledger::wipe(secret);
    ledger::wipe(derived);
    if (!key) return fail(KeystoreError::bad_key, "the keystore holds no private key");
    const auto claimed = keystore_address(text);
    if (claimed && *claimed != key->address()) {
        return fail(KeystoreError::bad_key, "the keystore's address is not its key's");
    }
    return *std::move(key);
}

}  // namespace

std::string_view slug(KeystoreError error) noexcept {
    switch (error) {
        case KeystoreError::malformed: return "keystore_malformed";
        case KeystoreError::unsupported: return "keystore_unsupported";
        case KeystoreError::wrong_passphrase: return "wrong_passphrase";
        case KeystoreError::bad_key: return "keystore_bad_key";
    }
    return "unknown";
}

Result<ledger::SecretKey, KeystoreFailure> decrypt_keystore(std::string_view text, std::string_view passphrase) {
    auto key = unlocked(text, passphrase);
    if (!key && key.error().code == KeystoreError::wrong_passphrase && !is_ascii(passphrase)) {
        auto form = nfkc(passphrase);
        if (form && *form != passphrase) key = unlocked(text, *form);
        if (form) ledger::wipe(*form);
        if (!key && key.error().code == KeystoreError::wrong_passphrase) {
            key = fail(KeystoreError::wrong_passphrase,
                       key.error().message +
                           (form ? "; the passphrase is not ASCII: it was tried as typed and in Unicode's form NFKC"
                                 : "; the passphrase is no UTF-8, as other wallets take it"));
        }
    }
    wipe_stack();
    return key;
}

std::optional<ledger::Address> keystore_address(std::string_view text) {
    if (text.size() > kFileMax) return std::nullopt;
    json::error_code failed;
    const json::value document = json::parse({text.data(), text.size()}, failed);
    const json::object* object = failed ? nullptr : document.if_object();
    const json::value* v = object != nullptr ? object->if_contains("address") : nullptr;
    if (v == nullptr || !v->is_string()) return std::nullopt;
    std::string address(v->get_string().data(), v->get_string().size());
    if (address.substr(0, 2) != "0x") address = "0x" + address;
    return ledger::parse_address(address);
}

bool is_keystore(std::string_view text) { return parse_crypto(text).has_value(); }

std::string encrypt_keystore(const ledger::SecretKey& key, std::string_view passphrase,
                             const ledger::ScryptParams& params) {
    std::array<std::uint8_t, 32> salt{};
    std::array<std::uint8_t, 16> iv{};
    ledger::random_bytes(salt);
    ledger::random_bytes(iv);
    auto form = nfkc(passphrase);
    auto derived = ledger::scrypt(view(form ? std::string_view(*form) : passphrase), salt, params, kDerivedSize);
    if (form) ledger::wipe(*form);
    ensure(derived.has_value(), "our own scrypt parameters are within the limits");
    const Bytes ciphertext = ledger::aes_128_ctr(View(*derived).first(16), iv, key.bytes());
    const Hash32 mac = mac_of(*derived, ciphertext);
    ledger::wipe(*derived);
    wipe_stack();
    const json::object crypto{
        {"cipher", "aes-128-ctr"},
        {"cipherparams", {{"iv", to_hex(iv)}}},
        {"ciphertext", to_hex(ciphertext)},
        {"kdf", "scrypt"},
        {"kdfparams",
         {{"dklen", kDerivedSize}, {"n", params.n}, {"p", params.p}, {"r", params.r}, {"salt", to_hex(salt)}}},
        {"mac", to_hex(view(mac))}};
    const json::object file{
        {"address", ledger::to_0x(key.address()).substr(2)}, {"crypto", crypto}, {"id", random_uuid()}, {"version", 3}};
    return json::serialize(file) + "\n";
}

}  // namespace retrace::node::wallet
