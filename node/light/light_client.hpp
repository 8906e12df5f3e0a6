// SPDX-License-Identifier: MIT
// Follows a chain of CometBFT without trusting the node that it talks to.
#pragma once

#include <functional>
#include <string>

#include "node/light/verify.hpp"
#include "node/net/http_client.hpp"

namespace retrace::node::light {

/// A block of CometBFT that the user trusts, from a source other than the node.
struct TrustedBlock {
    std::uint64_t height = 0;
    std::string hash;  ///< 64 hex digits.
};

/// The block of CometBFT at a height; 0: the newest one.
using BlockSource = std::function<Result<LightBlock>(std::uint64_t height)>;

/// Asks a node's `/comet` (see docs/json-rpc.md). Blocking, at most 20 seconds each.
BlockSource node_source(const Url& node);

class LightClient {
public:
    /// Errors: the source has no such block, or one with another hash.
    static Result<LightClient> start(BlockSource source, const TrustedBlock& trusted, const TrustRules& rules = {});

    /// The block at a height from the trusted one on, or the newest one (0), or the one below it if the newest is not
    /// proved by the votes that the node has seen. When the sets of validators have changed too
    /// much since the newest block that it has verified, it looks at blocks between the two, at most kStepsMax.
    Result<LightBlock> verified(std::uint64_t height = 0);

    static constexpr unsigned kStepsMax = 200;

private:
    LightClient(BlockSource source, LightBlock trusted, const TrustRules& rules)
        : source_(std::move(source)), trusted_(std::move(trusted)), rules_(rules) {}

    /// `is_invalid`: whether a block was one that no honest node shows.
    Result<LightBlock> follow(const LightBlock& target, bool& is_invalid);

    BlockSource source_;
    LightBlock trusted_;  // the highest block that was verified
    TrustRules rules_;
};

}  // namespace retrace::node::light
