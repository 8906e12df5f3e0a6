// SPDX-License-Identifier: MIT
// scrypt (RFC 7914) for keystores. It accepts every N and r, whereas OpenSSL 3.0 refuses the official V3 vector.
#pragma once

#include <cstdint>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::ledger {

struct ScryptParams {
    std::uint64_t n = 0;  ///< Cost: a power of two above 1.
    std::uint32_t r = 0;  ///< Block size.
    std::uint32_t p = 0;  ///< Parallelism.
};

/// Limits of this function: 1 GiB of memory and 2^32 block mixes. node/wallet sets stricter limits for a stranger's
/// keystore.
inline constexpr std::uint64_t kScryptMemoryMax = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kScryptWorkMax = std::uint64_t{1} << 32;

/// `size` bytes, 1..1024. Parameters out of range are an Error that names the parameter.
Result<Bytes> scrypt(View password, View salt, const ScryptParams& params, std::size_t size);

}  // namespace retrace::ledger
