// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "node/cli/cli.hpp"

namespace retrace::node::cli {

const std::vector<AddCommand>& commands();

}  // namespace retrace::node::cli
