// SPDX-License-Identifier: MIT
#include "ledger/crypto/ed25519.hpp"

#include <openssl/evp.h>

#include <memory>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Key private_key(View seed) {
    Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()), &EVP_PKEY_free);
    ensure(key != nullptr, "a private key has 32 bytes");
    return key;
}

}  // namespace

bool ed25519_verify(const Hash32& key, View message, View signature) {
    const Key handle(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()), &EVP_PKEY_free);
    const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    return handle && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, handle.get()) == 1 &&
           EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(), message.size()) == 1;
}

Hash32 ed25519_public_key(View seed) {
    const Key key = private_key(seed);
    Hash32 out;
    std::size_t size = out.size();
    ensure(EVP_PKEY_get_raw_public_key(key.get(), out.data(), &size) == 1 && size == out.size(),
           "OpenSSL computes a public key");
    return out;
}

Ed25519Signature ed25519_sign(View seed, View message) {
    const Key key = private_key(seed);
    const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    Ed25519Signature out{};
    std::size_t size = out.size();
    ensure(context && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
               EVP_DigestSign(context.get(), out.data(), &size, message.data(), message.size()) == 1,
           "OpenSSL signs with Ed25519");
    return out;
}

}  // namespace retrace::ledger
