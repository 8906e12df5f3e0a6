// SPDX-License-Identifier: MIT
#pragma once

namespace retrace::node::wallet {

/// Overwrites the stack below the caller: what functions that have returned left there of a secret, in
/// spilled registers too, which no destructor knows of.
void wipe_stack() noexcept;

}  // namespace retrace::node::wallet
