// SPDX-License-Identifier: MIT
// A node of a chain that one validator of CometBFT signs. It may change its answers before it gives them.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "node/light/light_block.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {

class SignedNode {
public:
    using Lie = std::function<void(json::value& result)>;

    /// `world` outlives the node, which serves its JSON-RPC and `/comet`.
    explicit SignedNode(RpcWorld& world);

    const std::string& url() const { return peer_.url(); }
    /// Hash of the signed block at that height, whose app hash is that of the ledger's block below.
    std::string hash_at(std::uint64_t height);
    void mine();
    /// Changes all later results of a method; an empty one ends that.
    void lie(const std::string& method, Lie lie);
    /// The newest signed block that it shows; none: the one above the ledger's newest.
    void show_up_to(std::optional<std::uint64_t> height);

private:
    light::LightBlock signed_block(std::uint64_t height) const;
    std::string answer(const std::string& request_line, const std::string& body);
    boost::json::value answer_one(const std::string& request_line, const boost::json::value& call);

    RpcWorld& world_;
    std::mutex mutex_;
    std::map<std::string, Lie> lies_;
    std::optional<std::uint64_t> newest_;
    const Bytes seed_ = Bytes(32, 5);
    const std::int64_t start_;
    HostilePeer peer_;
};

}  // namespace retrace::node::test
