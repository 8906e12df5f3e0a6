// SPDX-License-Identifier: MIT
// retrace wallet
#include "node/cmd/wallet_command.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace retrace::node::cli {

void add_wallet(CLI::App& app, Program& program) {
    CLI::App* wallet = app.add_subcommand("wallet", "Keys, signatures, balances and payments");
    wallet->require_subcommand(1);
    add_wallet_keys(*wallet, program);
    add_wallet_messages(*wallet, program);
    add_wallet_chain(*wallet, program);
    add_wallet_history(*wallet, program);
}

}  // namespace retrace::node::cli
