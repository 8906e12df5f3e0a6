// SPDX-License-Identifier: MIT
// What a client reads of a chain: as its node says, or proved from a block that its user trusts.
#pragma once

#include <map>
#include <optional>

#include "node/agents/remote_state.hpp"
#include "node/light/light_client.hpp"

namespace retrace::node {

class ChainReader {
public:
    /// `client` outlives the reader. Without `trust` the node is believed. With it, every value that is read comes with
    /// a proof under a block that the validators signed, which is one below the node's newest.
    explicit ChainReader(RpcClient& client, std::optional<light::TrustedBlock> trust = std::nullopt)
        : client_(client), trust_(std::move(trust)) {}

    /// The newest block that can be read; it never falls.
    Result<std::uint64_t, RpcFailure> height();
    /// The state after a block that `height` has returned, at most kKept blocks ago. Any other is one whose reads fail.
    RemoteState state(std::uint64_t height) const;

    static constexpr std::size_t kKept = 64;  ///< A node makes proofs for so many blocks.

private:
    RpcClient& client_;
    std::optional<light::TrustedBlock> trust_;
    std::optional<light::LightClient> light_;  // made at the first use
    std::uint64_t tip_ = 0;                    // the node's newest block when the newest proof was made
    std::map<std::uint64_t, Hash32> roots_;    // of proved blocks
};

}  // namespace retrace::node
