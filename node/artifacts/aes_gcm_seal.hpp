// SPDX-License-Identifier: MIT
// AES-256-GCM for checkpoints at rest.
#pragma once

#include "solver/checkpoints/seal.hpp"

namespace retrace::node {

/// A sealed file: solver::kSealMagic ‖ 8 random bytes ‖ chunks of 1 MiB, each ciphertext ‖ 16 bytes of tag.
/// The nonce of chunk i is the random bytes ‖ i u32 LE; its associated data is a byte that says whether it is
/// the last, and the name. So chunks cannot be cut off, reordered, or moved to another file.
class AesGcmSeal final : public solver::Seal {
public:
    /// The key is SHA-256("retrace/at-rest/1" ‖ secret), where `secret` follows from the party's private key.
    explicit AesGcmSeal(const Hash32& secret);

    Result<Bytes> close(View plain, std::string_view name) const override;
    Result<Bytes> open(View sealed, std::string_view name) const override;
    std::optional<std::uint64_t> plain_size(std::uint64_t sealed) const override;
    Result<Bytes> open_chunk(const solver::ReadAt& read, std::uint64_t sealed, std::uint64_t index,
                             std::string_view name) const override;

private:
    Hash32 key_;
};

}  // namespace retrace::node
