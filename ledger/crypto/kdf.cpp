// SPDX-License-Identifier: MIT
#include "ledger/crypto/kdf.hpp"

#include <cryptopp/aes.h>
#include <cryptopp/hmac.h>
#include <cryptopp/modes.h>
#include <cryptopp/pwdbased.h>
#include <cryptopp/sha.h>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

template <class Digest>
auto hmac(View key, View message) {
    std::array<std::uint8_t, Digest::DIGESTSIZE> out;
    CryptoPP::HMAC<Digest> mac(key.data(), key.size());
    mac.Update(message.data(), message.size());
    mac.Final(out.data());
    return out;
}

template <class Digest>
Result<Bytes> pbkdf2(View password, View salt, std::uint32_t rounds, std::size_t size) {
    if (rounds == 0 || rounds > kPbkdf2RoundsMax) return error("pbkdf2: the number of rounds is out of range");
    if (size == 0 || size > 1024) return error("pbkdf2: key length is out of range");
    Bytes out(size);
    CryptoPP::PKCS5_PBKDF2_HMAC<Digest>().DeriveKey(out.data(), out.size(), 0, password.data(), password.size(),
                                                    salt.data(), salt.size(), rounds);
    return out;
}

}  // namespace

std::array<std::uint8_t, 32> hmac_sha256(View key, View message) { return hmac<CryptoPP::SHA256>(key, message); }
std::array<std::uint8_t, 64> hmac_sha512(View key, View message) { return hmac<CryptoPP::SHA512>(key, message); }

Result<Bytes> pbkdf2_hmac_sha256(View password, View salt, std::uint32_t rounds, std::size_t size) {
    return pbkdf2<CryptoPP::SHA256>(password, salt, rounds, size);
}

Result<Bytes> pbkdf2_hmac_sha512(View password, View salt, std::uint32_t rounds, std::size_t size) {
    return pbkdf2<CryptoPP::SHA512>(password, salt, rounds, size);
}

Bytes aes_128_ctr(View key, View counter, View data) {
    ensure(key.size() == 16 && counter.size() == 16, "aes_128_ctr: key and counter of 16 bytes");
    Bytes out(data.size());
    CryptoPP::CTR_Mode<CryptoPP::AES>::Encryption cipher(key.data(), key.size(), counter.data());
    cipher.ProcessData(out.data(), data.data(), data.size());
    return out;
}

}  // namespace retrace::ledger
