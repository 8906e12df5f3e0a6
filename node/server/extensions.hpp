// SPDX-License-Identifier: MIT
// RPC methods and HTTP routes that the other parts of the program add to a node before it starts.
#pragma once

#include <memory>

#include "node/server/node.hpp"

namespace retrace::node {

/// An addition to a node; it must stay alive until the node has stopped.
class Extension {
public:
    virtual ~Extension() = default;
};

/// Adds everything that `retrace node` serves beyond the node's own methods. The caller keeps the result until the node
/// has stopped serving.
Result<std::vector<std::unique_ptr<Extension>>> extend(Node& node);

}  // namespace retrace::node
