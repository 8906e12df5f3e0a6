// SPDX-License-Identifier: MIT
// Slots of the newest block that an agent has read, of which the node says at each later block which have changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "ledger/types/address.hpp"
#include "merkle/base/bytes.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

using SlotName = std::pair<ledger::Address, Bytes>;  ///< A contract and a key.

/// An agent reads the same few hundred slots at every block, and few of them change: to ask for all of them takes more
/// of a slow link than a training's messages. The node is believed, as it is with the values. Not thread-safe.
class SlotCache {
public:
    /// From now on the cache is of this block. Slots of which it is not certain that they are the same are forgotten, as
    /// are those that nobody has read for kUnreadBlocks.
    void advance(RpcClient& client, std::uint64_t height);
    std::uint64_t height() const noexcept { return height_; }

    const Bytes* find(const SlotName& name);
    /// `value` is that of the slot at `height`.
    void put(const SlotName& name, const Bytes& value);

    static constexpr std::uint64_t kUnreadBlocks = 16;
    static constexpr std::size_t kBytesMax = std::size_t{64} << 20;

private:
    struct Value {
        Bytes bytes;
        std::uint64_t read = 0;  ///< Height at which it was read last.
    };
    /// Erases what changed since the block of the cache. Returns false if the node does not tell it.
    bool erase_changed(RpcClient& client, std::uint64_t height);

    std::uint64_t height_ = 0;
    std::optional<Hash32> hash_;  ///< Of that block; another chain's block of this height has another.
    std::map<SlotName, Value> slots_;
    std::size_t bytes_ = 0;
};

}  // namespace retrace::node
