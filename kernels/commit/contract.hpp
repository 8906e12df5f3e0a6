// SPDX-License-Identifier: MIT
#pragma once

#include "merkle/base/bytes.hpp"

namespace retrace::kernels {

/// SHA-256 of kernels/contract-v1.txt, the frozen text of the numeric contract; part of every state root.
Hash32 contract_hash();

}  // namespace retrace::kernels
