// SPDX-License-Identifier: MIT
#include "ledger/crypto/scrypt.hpp"

#include <cryptopp/scrypt.h>

#include <bit>

namespace retrace::ledger {

Result<Bytes> scrypt(View password, View salt, const ScryptParams& params, std::size_t size) {
    const auto [n, r, p] = params;
    if (n < 2 || !std::has_single_bit(n)) return error("scrypt: n is not a power of two above 1");
    if (r == 0 || r > (1U << 20)) return error("scrypt: r is out of range");
    if (p == 0 || p > (1U << 20)) return error("scrypt: p is out of range");
    if (n > kScryptMemoryMax / 128 / r) return error("scrypt: n and r ask for more than 1 GiB of memory");
    if (n * r > kScryptWorkMax / p) return error("scrypt: n, r and p ask for too much work");
    if (size == 0 || size > 1024) return error("scrypt: key length is out of range");
    Bytes out(size);
    try {
        CryptoPP::Scrypt().DeriveKey(out.data(), out.size(), password.data(), password.size(), salt.data(), salt.size(),
                                     n, r, p);
    } catch (const std::exception& failure) {  // Crypto++'s own checks and allocation
        return error(std::string("scrypt: ") + failure.what());
    }
    return out;
}

}  // namespace retrace::ledger
