// SPDX-License-Identifier: MIT
// Encryption at rest, passed in by whoever has the key: this folder knows no cipher
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
    /// What is stored instead of `plain`, kSealMagic first. `name` is bound: a sealed file opens under no
    /// other name.
    virtual Result<Bytes> close(View plain, std::string_view name) const = 0;
    /// Fails for another key, another name, and for anything that was changed or cut.
    virtual Result<Bytes> open(View sealed, std::string_view name) const = 0;
};

}  // namespace retrace::solver
