// SPDX-License-Identifier: MIT
#include "ledger/crypto/vrf.hpp"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

#include <algorithm>
#include <memory>

#include "ledger/crypto/kdf.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::ledger {
namespace {

constexpr std::uint8_t kSuite = 0x01;
constexpr std::size_t kPointSize = 33, kChallengeSize = 16, kScalarSize = 32;

template <auto kFree>
struct Free {
    void operator()(auto* pointer) const { kFree(pointer); }
};
using Group = std::unique_ptr<EC_GROUP, Free<EC_GROUP_free>>;
using Point = std::unique_ptr<EC_POINT, Free<EC_POINT_clear_free>>;
using Number = std::unique_ptr<BIGNUM, Free<BN_clear_free>>;
using Scratch = std::unique_ptr<BN_CTX, Free<BN_CTX_free>>;

/// The curve, and arithmetic on it that can only fail for lack of memory.
class Curve {
public:
    Curve() : group_(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)), scratch_(BN_CTX_secure_new()) {
        ensure(group_ && scratch_, "OpenSSL has P-256");
    }

    const BIGNUM* order() const { return EC_GROUP_get0_order(group_.get()); }
    BN_CTX* scratch() const { return scratch_.get(); }

    /// nullopt unless the bytes are a compressed point other than infinity.
    Point decode(View bytes) const {
        if (bytes.size() != kPointSize || (bytes[0] != 2 && bytes[0] != 3)) return nullptr;
        Point point = made(EC_POINT_new(group_.get()));
        if (EC_POINT_oct2point(group_.get(), point.get(), bytes.data(), bytes.size(), scratch()) != 1) return nullptr;
        return point;
    }
    std::array<std::uint8_t, kPointSize> encode(const Point& point) const {
        std::array<std::uint8_t, kPointSize> out{};
        // Infinity takes one byte; here it leaves zeros, which are no point.
        EC_POINT_point2oct(group_.get(), point.get(), POINT_CONVERSION_COMPRESSED, out.data(), out.size(), scratch());
        return out;
    }
    /// factor · point; the generator for nullptr.
    Point multiply(const BIGNUM* factor, const EC_POINT* point) const {
        Point out = made(EC_POINT_new(group_.get()));
        ensure(EC_POINT_mul(group_.get(), out.get(), point == nullptr ? factor : nullptr, point,
                            point == nullptr ? nullptr : factor, scratch()) == 1,
               "OpenSSL multiplies a point");
        return out;
    }
    Point subtract(const Point& left, const Point& right) const {
        Point out = made(EC_POINT_dup(right.get(), group_.get()));
        ensure(EC_POINT_invert(group_.get(), out.get(), scratch()) == 1 &&
                   EC_POINT_add(group_.get(), out.get(), left.get(), out.get(), scratch()) == 1,
               "OpenSSL adds points");
        return out;
    }

private:
    static Point made(EC_POINT* point) {
        ensure(point != nullptr, "OpenSSL makes a point");
        return Point(point);
    }
    Group group_;
    Scratch scratch_;
};

Number number(View bytes) {
    Number out(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
    ensure(out != nullptr, "OpenSSL makes a number");
    BN_set_flags(out.get(), BN_FLG_CONSTTIME);
    return out;
}

std::array<std::uint8_t, kScalarSize> scalar_bytes(const BIGNUM* value) {
    std::array<std::uint8_t, kScalarSize> out{};
    ensure(BN_bn2binpad(value, out.data(), static_cast<int>(out.size())) == kScalarSize, "a scalar has 32 bytes");
    return out;
}

/// ECVRF_encode_to_curve_try_and_increment (5.4.1.1), salted with the key.
Point encode_to_curve(const Curve& curve, const VrfKey& key, View alpha) {
    for (unsigned counter = 0; counter < 256; ++counter) {
        const std::array<std::uint8_t, 2> front{kSuite, 0x01};
        const std::array<std::uint8_t, 2> back{static_cast<std::uint8_t>(counter), 0x00};
        const Hash32 digest = merkle::sha256({front, key.bytes, alpha, back});
        std::array<std::uint8_t, kPointSize> candidate{0x02};
        std::copy_n(digest.data(), digest.size(), candidate.begin() + 1);
        if (Point point = curve.decode(candidate)) return point;
    }
    return nullptr;  // For one input in 2^256.
}

/// ECVRF_challenge_generation (5.4.3).
std::array<std::uint8_t, kChallengeSize> challenge(const Curve& curve, const VrfKey& key, const Point& h,
                                                   const Point& gamma, const Point& u, const Point& v) {
    const std::array<std::uint8_t, 2> front{kSuite, 0x02};
    const std::array<std::uint8_t, 1> back{0x00};
    const Hash32 digest = merkle::sha256(
        {front, key.bytes, curve.encode(h), curve.encode(gamma), curve.encode(u), curve.encode(v), back});
    std::array<std::uint8_t, kChallengeSize> out{};
    std::copy_n(digest.data(), out.size(), out.begin());
    return out;
}

/// ECVRF_nonce_generation of RFC 6979 (5.4.2.1): the nonce is a function of secret and input.
Number nonce(const Curve& curve, View secret, View input) {
    const Number digest = number(view(merkle::sha256(input)));
    Number reduced = number({});
    ensure(BN_nnmod(reduced.get(), digest.get(), curve.order(), curve.scratch()) == 1, "OpenSSL reduces a number");
    const auto message = scalar_bytes(reduced.get());
    std::array<std::uint8_t, 32> key{}, value{};
    value.fill(0x01);
    const auto update = [&](std::uint8_t separator, bool with_message) {
        Bytes all(value.begin(), value.end());
        all.push_back(separator);
        if (with_message) {
            all.insert(all.end(), secret.begin(), secret.end());
            all.insert(all.end(), message.begin(), message.end());
        }
        key = hmac_sha256(key, all);
        value = hmac_sha256(key, value);
        wipe(all);
    };
    update(0x00, true);
    update(0x01, true);
    for (;;) {
        value = hmac_sha256(key, value);
        Number candidate = number(value);
        if (!BN_is_zero(candidate.get()) && BN_cmp(candidate.get(), curve.order()) < 0) {
            wipe(key);
            wipe(value);
            return candidate;
        }
        update(0x00, false);
    }
}

}  // namespace

std::optional<VrfSecret> VrfSecret::from_bytes(View bytes) {
    if (bytes.size() != kScalarSize) return std::nullopt;
    const Curve curve;
    const Number scalar = number(bytes);
    if (BN_is_zero(scalar.get()) || BN_cmp(scalar.get(), curve.order()) >= 0) return std::nullopt;
    VrfSecret out;
    std::copy(bytes.begin(), bytes.end(), out.bytes_.begin());
    out.key_.bytes = curve.encode(curve.multiply(scalar.get(), nullptr));
    return out;
}

VrfSecret VrfSecret::random() {
    std::array<std::uint8_t, kScalarSize> bytes{};
    for (;;) {
        random_bytes(bytes);
        auto secret = from_bytes(bytes);
        wipe(bytes);
        if (secret) return *secret;
    }
}

VrfSecret::~VrfSecret() { wipe(bytes_); }

VrfProof VrfSecret::prove(View alpha) const {
    const Curve curve;
    const Number x = number(bytes_);
    const Point h = encode_to_curve(curve, key_, alpha);
    ensure(h != nullptr, "an input of the function has a point");
    const Point gamma = curve.multiply(x.get(), h.get());
    const Number k = nonce(curve, bytes_, curve.encode(h));
    const auto c = challenge(curve, key_, h, gamma, curve.multiply(k.get(), nullptr), curve.multiply(k.get(), h.get()));
    // s = (k + c·x) mod order
    const Number factor = number(c);
    Number s = number({});
    ensure(BN_mod_mul(s.get(), factor.get(), x.get(), curve.order(), curve.scratch()) == 1 &&
               BN_mod_add(s.get(), s.get(), k.get(), curve.order(), curve.scratch()) == 1,
           "OpenSSL computes modulo the order");
    VrfProof proof{};
    auto at = std::ranges::copy(curve.encode(gamma), proof.begin()).out;
    at = std::ranges::copy(c, at).out;
    std::ranges::copy(scalar_bytes(s.get()), at);
    return proof;
}

bool is_vrf_key(const VrfKey& key) { return Curve().decode(key.bytes) != nullptr; }

std::optional<Hash32> vrf_verify(const VrfKey& key, View alpha, View proof) {
    if (proof.size() != VrfProof{}.size()) return std::nullopt;
    const Curve curve;
    const Point y = curve.decode(key.bytes), gamma = curve.decode(proof.first(kPointSize));
    if (!y || !gamma) return std::nullopt;
    const View challenge_bytes = proof.subspan(kPointSize, kChallengeSize);
    const Number c = number(challenge_bytes), s = number(proof.last(kScalarSize));
    if (BN_cmp(s.get(), curve.order()) >= 0) return std::nullopt;
    const Point h = encode_to_curve(curve, key, alpha);
    if (!h) return std::nullopt;
    const Point u = curve.subtract(curve.multiply(s.get(), nullptr), curve.multiply(c.get(), y.get()));
    const Point v = curve.subtract(curve.multiply(s.get(), h.get()), curve.multiply(c.get(), gamma.get()));
    if (!equal(challenge(curve, key, h, gamma, u, v), challenge_bytes)) return std::nullopt;
    // ECVRF_proof_to_hash (5.2); the cofactor of P-256 is 1.
    const std::array<std::uint8_t, 2> front{kSuite, 0x03};
    const std::array<std::uint8_t, 1> back{0x00};
    return merkle::sha256({front, proof.first(kPointSize), back});
}

}  // namespace retrace::ledger
