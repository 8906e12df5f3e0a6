// SPDX-License-Identifier: MIT
// Interface for encryption at rest. The owner of the key passes an implementation in; this folder has no cipher
// (node/artifacts/aes_gcm_seal.hpp).
#pragma once

#include <string_view>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::solver {

/// First bytes of every sealed file; no plain file of a checkpoint store begins with them.
inline constexpr std::string_view kSealMagic = "retrace-sealed/1";

class Seal {
public:
    virtual ~Seal() = default;
    /// Encrypts `plain`; the result begins with kSealMagic. It is bound to `name` and opens under no other name.
    virtual Result<Bytes> close(View plain, std::string_view name) const = 0;
    /// Decrypts; fails for another key, another name, and changed or truncated content.
    virtual Result<Bytes> open(View sealed, std::string_view name) const = 0;
};

}  // namespace retrace::solver
