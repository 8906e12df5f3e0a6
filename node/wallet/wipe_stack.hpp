// SPDX-License-Identifier: MIT
#pragma once

namespace retrace::node::wallet {

/// Overwrites the stack below the caller, where functions that have returned may have left parts of a secret, including
/// spilled registers, which no destructor can reach.
void wipe_stack() noexcept;

}  // namespace retrace::node::wallet
