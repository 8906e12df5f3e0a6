// SPDX-License-Identifier: MIT
// The file of a validator's VRF key, which proves its shares of the beacon.
#pragma once

#include <filesystem>

#include "ledger/crypto/vrf.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::engine {

/// Makes a key at `path`, readable by its owner only; one that is there is read. A validator without its key cannot
/// vote until its account registers a new pair of keys.
Result<ledger::VrfSecret> make_vrf_key(const std::filesystem::path& path);

}  // namespace retrace::node::engine
