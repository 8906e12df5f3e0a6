// SPDX-License-Identifier: MIT
#pragma once

#include "node/server/node.hpp"

namespace retrace::node {

/// The native contracts, as every node of a real chain executes them.
Rules native_rules();

}  // namespace retrace::node
