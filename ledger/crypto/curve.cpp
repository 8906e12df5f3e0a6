// SPDX-License-Identifier: MIT
#include "ledger/crypto/curve.hpp"

#include <secp256k1.h>
#include <secp256k1_ecdh.h>

#include <algorithm>
#include <vector>

#include "ledger/crypto/secp256k1.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {

struct CurveAccess {
    static CurvePoint of(const secp256k1_pubkey& key) {
        CurvePoint out;
        std::size_t size = CurvePoint::kBytes;
        secp256k1_ec_pubkey_serialize(secp256k1_context_static, out.bytes_.data(), &size, &key,
                                      SECP256K1_EC_COMPRESSED);
        return out;
    }
    static CurvePoint of(const std::array<std::uint8_t, CurvePoint::kBytes>& bytes) {
        CurvePoint out;
        out.bytes_ = bytes;
        return out;
    }
};

namespace {

/// n, big endian.
constexpr std::array<std::uint8_t, 32> kOrder = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
                                                 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};
constexpr std::array<std::uint8_t, 33> kGenerator = {0x02, 0x79, 0xbe, 0x66, 0x7e, 0xf9, 0xdc, 0xbb, 0xac, 0x55, 0xa0,
                                                     0x62, 0x95, 0xce, 0x87, 0x0b, 0x07, 0x02, 0x9b, 0xfc, 0xdb, 0x2d,
                                                     0xce, 0x28, 0xd9, 0x59, 0xf2, 0x81, 0x5b, 0x16, 0xf8, 0x17, 0x98};

secp256k1_pubkey parsed(const CurvePoint& point) {
    secp256k1_pubkey key;
    const View bytes = point.bytes();
    ensure(secp256k1_ec_pubkey_parse(secp256k1_context_static, &key, bytes.data(), bytes.size()) == 1,
           "secp256k1: a point was checked when it was decoded");
    return key;
}

/// Hash function of an agreement that returns the compressed point itself.
int copy_point(unsigned char* out, const unsigned char* x, const unsigned char* y, void*) {
    out[0] = static_cast<unsigned char>(2 + (y[31] & 1));
    std::copy_n(x, 32, out + 1);
    return 1;
}

}  // namespace

Scalar::Scalar(std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) bytes_[31 - i] = static_cast<std::uint8_t>(value >> (8 * i));
}

Scalar::~Scalar() { wipe(bytes_); }

std::optional<Scalar> Scalar::from_bytes(View bytes) {
    if (bytes.size() != 32) return std::nullopt;
    Scalar out;
    std::copy(bytes.begin(), bytes.end(), out.bytes_.begin());
    if (!out.is_zero() && secp256k1_ec_seckey_verify(secp256k1_context_static, out.bytes_.data()) != 1)
        return std::nullopt;
    return out;
}

Scalar Scalar::from_hash(const Hash32& hash) {
    Scalar out;
    out.bytes_ = hash.bytes;
    if (out.bytes_ < kOrder) return out;
    int borrow = 0;  // Below 2^256 < 2n, so one subtraction is enough.
    for (std::size_t i = 32; i-- > 0;) {
        const int difference = out.bytes_[i] - kOrder[i] - borrow;
        borrow = difference < 0 ? 1 : 0;
        out.bytes_[i] = static_cast<std::uint8_t>(difference + 256 * borrow);
    }
    return out;
}

Scalar Scalar::random(const RandomSource& source) {
    for (;;) {  // A random 256-bit value is out of range once in 2^128 tries.
        std::array<std::uint8_t, 32> bytes;
        source(bytes);
        const auto out = from_bytes(bytes);
        wipe(bytes);
        if (out && !out->is_zero()) return *out;
    }
}

bool Scalar::is_zero() const {
    std::uint8_t any = 0;
    for (const std::uint8_t byte : bytes_) any |= byte;
    return any == 0;
}

Scalar Scalar::negated() const {
    Scalar out = *this;
    if (!is_zero()) ensure(secp256k1_ec_seckey_negate(secp256k1_context_static, out.bytes_.data()) == 1, "negation");
    return out;
}

Scalar Scalar::inverse() const {
    ensure(!is_zero(), "zero has no inverse");
    Scalar out(1);  // Fermat: x^(n - 2).
    std::array<std::uint8_t, 32> exponent = kOrder;
    exponent[31] -= 2;
    for (const std::uint8_t byte : exponent) {
        for (unsigned bit = 8; bit-- > 0;) {
            out = out * out;
            if ((byte >> bit & 1) != 0) out = out * *this;
        }
    }
    return out;
}

Scalar operator+(const Scalar& a, const Scalar& b) {
    if (a.is_zero()) return b;
    Scalar out = a;
    // Both are below n, so the library refuses only a sum of zero.
    if (secp256k1_ec_seckey_tweak_add(secp256k1_context_static, out.bytes_.data(), b.bytes_.data()) != 1) return {};
    return out;
}

Scalar operator*(const Scalar& a, const Scalar& b) {
    if (a.is_zero() || b.is_zero()) return {};
    Scalar out = a;
    ensure(secp256k1_ec_seckey_tweak_mul(secp256k1_context_static, out.bytes_.data(), b.bytes_.data()) == 1,
           "a product of scalars that are not zero");
    return out;
}

std::optional<CurvePoint> CurvePoint::decode(View bytes) {
    if (bytes.size() != kBytes) return std::nullopt;
    secp256k1_pubkey key;
    if (secp256k1_ec_pubkey_parse(secp256k1_context_static, &key, bytes.data(), bytes.size()) != 1) return std::nullopt;
    return CurveAccess::of(key);
}

CurvePoint generator() { return CurveAccess::of(kGenerator); }

CurvePoint public_point(const Scalar& secret) {
    const auto key = SecretKey::from_bytes(secret.bytes());
    ensure(key.has_value(), "the secret of a public point is not zero");
    return CurveAccess::of(key->public_key().compressed());
}

CurvePoint shared_point(const Scalar& secret, const CurvePoint& point) {
    const secp256k1_pubkey key = parsed(point);
    std::array<std::uint8_t, CurvePoint::kBytes> out;
    ensure(secp256k1_ecdh(secp256k1_context_static, out.data(), &key, secret.bytes().data(), copy_point, nullptr) == 1,
           "the secret of an agreement is not zero");
    const CurvePoint shared = CurveAccess::of(out);
    wipe(out);
    return shared;
}

std::optional<CurvePoint> times(const Scalar& scalar, const CurvePoint& point) {
    if (scalar.is_zero()) return std::nullopt;
    secp256k1_pubkey key = parsed(point);
    ensure(secp256k1_ec_pubkey_tweak_mul(secp256k1_context_static, &key, scalar.bytes().data()) == 1,
           "a product of a point and a scalar that is not zero");
    return CurveAccess::of(key);
}

std::optional<CurvePoint> sum(std::span<const CurvePoint> points) {
    if (points.empty()) return std::nullopt;
    std::vector<secp256k1_pubkey> keys;
    std::vector<const secp256k1_pubkey*> terms;
    keys.reserve(points.size());
    for (const CurvePoint& point : points) terms.push_back(&keys.emplace_back(parsed(point)));
    secp256k1_pubkey out;
    if (secp256k1_ec_pubkey_combine(secp256k1_context_static, &out, terms.data(), terms.size()) != 1)
        return std::nullopt;
    return CurveAccess::of(out);
}

}  // namespace retrace::ledger
