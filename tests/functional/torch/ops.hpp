// SPDX-License-Identifier: MIT
#pragma once

#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {

/// One model for every supported op.
std::vector<OpModel> op_models();

}  // namespace retrace::testing
