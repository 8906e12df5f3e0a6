// SPDX-License-Identifier: MIT
// Interface for encryption at rest. The owner of the key passes an implementation in; this folder has no cipher
// (node/artifacts/aes_gcm_seal.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::solver {

/// First bytes of every sealed file; no plain file of a checkpoint store begins with them.
inline constexpr std::string_view kSealMagic = "retrace-sealed/1";
/// The plain text is sealed in chunks of this size (the last may be shorter), each of which opens alone.
inline constexpr std::size_t kSealChunk = 1 << 20;

/// Returns exactly `size` bytes of a sealed file from `at` on.
using ReadAt = std::function<Result<Bytes>(std::uint64_t at, std::uint64_t size)>;

class Seal {
public:
    virtual ~Seal() = default;
    /// Encrypts `plain`; the result begins with kSealMagic. It is bound to `name` and opens under no other name.
    virtual Result<Bytes> close(View plain, std::string_view name) const = 0;
    /// Decrypts; fails for another key, another name, and changed or truncated content.
    virtual Result<Bytes> open(View sealed, std::string_view name) const = 0;
    /// Size of the plain text in a sealed file of `sealed` bytes; nullopt if no sealed file has that size.
    virtual std::optional<std::uint64_t> plain_size(std::uint64_t sealed) const = 0;
    /// Decrypts chunk `index` of a sealed file of `sealed` bytes and reads nothing else of it but its head. Fails as
    /// `open` does, except that changes of other chunks are not noticed. The chunk exists (`plain_size`).
    virtual Result<Bytes> open_chunk(const ReadAt& read, std::uint64_t sealed, std::uint64_t index,
                                     std::string_view name) const = 0;
};

}  // namespace retrace::solver
