// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <memory>

#include "merkle/base/bytes.hpp"

namespace retrace::merkle {

/// Incremental SHA-256 (FIPS 180-4). Reusable after `finish`. Not thread-safe; use one object per thread.
class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    Sha256& update(View bytes);
    Sha256& update_u8(std::uint8_t v);
    Sha256& update_u32(std::uint32_t v);  ///< Little endian.
    Sha256& update_u64(std::uint64_t v);  ///< Little endian.
    Hash32 finish();                      ///< Returns the digest and resets the object.

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

Hash32 sha256(View bytes);
/// SHA-256 of the concatenation.
Hash32 sha256(std::initializer_list<View> parts);

}  // namespace retrace::merkle
