// SPDX-License-Identifier: MIT
#pragma once

#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {

/// A model around every op that has a rule.
std::vector<OpModel> op_models();

}  // namespace retrace::testing
