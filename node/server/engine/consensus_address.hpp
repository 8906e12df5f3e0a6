// SPDX-License-Identifier: MIT
#pragma once

#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

/// The address of a validator's ed25519 key: the first 20 bytes of its SHA-256 (CometBFT specification, "Encoding").
Address20 consensus_address(const Hash32& public_key);

}  // namespace retrace::node::engine
