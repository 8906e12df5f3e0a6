// SPDX-License-Identifier: MIT
// The parts of `retrace wallet`.
#pragma once

#include "node/cmd/cli.hpp"

namespace retrace::node::cli {

void add_wallet_keys(CLI::App& wallet, Program& program);      ///< new, import, export, list
void add_wallet_messages(CLI::App& wallet, Program& program);  ///< sign, verify
void add_wallet_chain(CLI::App& wallet, Program& program);     ///< send, balance
void add_wallet_history(CLI::App& wallet, Program& program);

}  // namespace retrace::node::cli
