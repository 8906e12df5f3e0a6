// SPDX-License-Identifier: MIT
// What the other parts of the program add to a node before it starts: RPC methods, HTTP routes.
#pragma once

#include <memory>

#include "node/server/node.hpp"

namespace retrace::node {

/// What an extension keeps alive until the node has stopped.
class Extension {
public:
    virtual ~Extension() = default;
};

/// Adds everything that `retrace node` serves beyond the node's own. The result outlives the node's serving.
Result<std::vector<std::unique_ptr<Extension>>> extend(Node& node);

}  // namespace retrace::node
