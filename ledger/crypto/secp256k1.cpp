// SPDX-License-Identifier: MIT
#include "ledger/crypto/secp256k1.hpp"

#include <secp256k1.h>
#include <secp256k1_recovery.h>

#include <algorithm>

#include "ledger/crypto/keccak.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

using Serialized = std::array<std::uint8_t, 65>;

PublicKey to_public_key(const secp256k1_pubkey& key) {
    Serialized out;
    std::size_t size = out.size();
    secp256k1_ec_pubkey_serialize(secp256k1_context_static, out.data(), &size, &key, SECP256K1_EC_UNCOMPRESSED);
    PublicKey result;
    std::copy(out.begin() + 1, out.end(), result.bytes.begin());
    return result;
}

/// floor(n / 2): a larger s is the mirrored twin of a valid signature (EIP-2).
constexpr std::array<std::uint8_t, 32> kHalfOrder = {0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                     0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4,
                                                     0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0};

}  // namespace

std::array<std::uint8_t, 33> PublicKey::compressed() const {
    std::array<std::uint8_t, 33> out;
    out[0] = static_cast<std::uint8_t>(2 + (bytes[63] & 1));
    std::copy_n(bytes.begin(), 32, out.begin() + 1);
    return out;
}

Address address_of(const PublicKey& key) {
    const Hash32 hash = keccak256(View{key.bytes.data(), key.bytes.size()});
    return address_of_bytes(view(hash).subspan(12));
}

/// One context per key: it is blinded against timing attacks, and keys share no state.
struct SecretKey::Context {
    Context() : handle(secp256k1_context_create(SECP256K1_CONTEXT_NONE)) {
        std::array<std::uint8_t, 32> seed;
        random_bytes(seed);
        ensure(secp256k1_context_randomize(handle, seed.data()) == 1, "secp256k1: blinding failed");
        wipe(seed);
    }
    ~Context() { secp256k1_context_destroy(handle); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    secp256k1_context* handle;
};

SecretKey::SecretKey() : context_(std::make_unique<Context>()) {}
SecretKey::~SecretKey() { wipe(bytes_); }

SecretKey::SecretKey(SecretKey&& other) noexcept
    : context_(std::move(other.context_)), bytes_(other.bytes_), public_key_(other.public_key_) {
    wipe(other.bytes_);
}

SecretKey& SecretKey::operator=(SecretKey&& other) noexcept {
    context_ = std::move(other.context_);
    bytes_ = other.bytes_;
    public_key_ = other.public_key_;
    if (this != &other) wipe(other.bytes_);
    return *this;
}

std::optional<SecretKey> SecretKey::from_bytes(View bytes) {
    if (bytes.size() != 32) return std::nullopt;
    SecretKey out;
    std::copy(bytes.begin(), bytes.end(), out.bytes_.begin());
    secp256k1_pubkey key;
    if (secp256k1_ec_pubkey_create(out.context_->handle, &key, out.bytes_.data()) != 1) return std::nullopt;
    out.public_key_ = to_public_key(key);
    return out;
}

SecretKey SecretKey::random() {
    for (;;) {  // a random 256-bit value is out of range once in 2^128 tries
        std::array<std::uint8_t, 32> bytes;
        random_bytes(bytes);
        auto key = from_bytes(bytes);
        wipe(bytes);
        if (key) return std::move(*key);
    }
}

Signature SecretKey::sign(const Hash32& digest) const {
    secp256k1_ecdsa_recoverable_signature signature;
    const int signed_ok =
        secp256k1_ecdsa_sign_recoverable(context_->handle, &signature, digest.data(), bytes_.data(), nullptr, nullptr);
    ensure(signed_ok == 1, "secp256k1: signing failed");
    std::array<std::uint8_t, 64> compact;
    int recovery = 0;
    secp256k1_ecdsa_recoverable_signature_serialize_compact(context_->handle, compact.data(), &recovery, &signature);
    const View out(compact);
    return {to_hash32(out.first(32)), to_hash32(out.subspan(32)), static_cast<std::uint8_t>(recovery)};
}

std::optional<SecretKey> SecretKey::add_tweak(View tweak) const {
    if (tweak.size() != 32) return std::nullopt;
    std::array<std::uint8_t, 32> sum = bytes_;
    std::optional<SecretKey> out;
    if (secp256k1_ec_seckey_tweak_add(context_->handle, sum.data(), tweak.data()) == 1) out = from_bytes(sum);
    wipe(sum);
    return out;
}

std::optional<PublicKey> recover(const Hash32& digest, const Signature& signature) {
    // The library accepts every r and s below n, including high s, and recovery ids 2 and 3, which Ethereum does not
    // have.
    if (signature.y_parity > 1 || signature.r.is_zero() || signature.s.is_zero()) return std::nullopt;
    if (signature.s.bytes > kHalfOrder) return std::nullopt;
    std::array<std::uint8_t, 64> compact;
    std::copy(signature.r.bytes.begin(), signature.r.bytes.end(), compact.begin());
    std::copy(signature.s.bytes.begin(), signature.s.bytes.end(), compact.begin() + 32);
    const secp256k1_context* const context = secp256k1_context_static;
    secp256k1_ecdsa_recoverable_signature parsed;
    if (secp256k1_ecdsa_recoverable_signature_parse_compact(context, &parsed, compact.data(), signature.y_parity) !=
        1) {
        return std::nullopt;
    }
    secp256k1_pubkey key;
    if (secp256k1_ecdsa_recover(context, &key, &parsed, digest.data()) != 1) return std::nullopt;
    return to_public_key(key);
}

}  // namespace retrace::ledger
