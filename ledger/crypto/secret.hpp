// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace retrace::ledger {

/// Overwrites a secret with zeros in a way that the compiler may not drop.
void wipe(std::span<std::uint8_t> secret) noexcept;
/// Fills `out` from the operating system's random source; aborts when it has none.
void random_bytes(std::span<std::uint8_t> out);

}  // namespace retrace::ledger
