// SPDX-License-Identifier: MIT
// The ed25519 keys of CometBFT: a validator's, which signs votes, and a node's, which names it to its peers.
#pragma once

#include <filesystem>
#include <string>

#include "ledger/crypto/ed25519.hpp"
#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::engine {

/// Makes a validator's key at `path` and the record of what it has signed at `state_path`, both readable by their owner
/// only. A key that is there stays, and an Error is returned if its record is missing. Returns its public key.
/// A second machine with the same key loses its stake: CometBFT proves that the key signed twice.
Result<Hash32> make_validator_key(const std::filesystem::path& path, const std::filesystem::path& state_path);

struct SignedMessage {
    Hash32 key;  ///< Public key.
    ledger::Ed25519Signature signature{};
};
/// Signs a message that begins with text, so that it is no vote: CometBFT's votes begin with their length and a tag.
Result<SignedMessage> sign_with_validator_key(const std::filesystem::path& path, View message);

/// Makes a node's key; one that is there stays. Returns the node's id: 40 hex digits.
Result<std::string> make_node_key(const std::filesystem::path& path);

}  // namespace retrace::node::engine
