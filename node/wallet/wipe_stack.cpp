// SPDX-License-Identifier: MIT
#include "node/wallet/wipe_stack.hpp"

#include <array>
#include <cstdint>

#include "ledger/crypto/secret.hpp"

namespace retrace::node::wallet {

void wipe_stack() noexcept {
    std::array<std::uint8_t, 64 * 1024> below;  // more than a derivation and the library behind it use
    ledger::wipe(below);
}

}  // namespace retrace::node::wallet
