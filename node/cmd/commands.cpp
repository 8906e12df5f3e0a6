// SPDX-License-Identifier: MIT
// All subcommands of `retrace`, in the order in which --help lists them.
#include "node/cmd/commands.hpp"

namespace retrace::node::cli {

const std::vector<AddCommand>& commands() {
    static const std::vector<AddCommand> all{
        add_node,      add_snapshot, add_task,    add_stake,   add_solver,     add_verifier,    add_doctor,
        add_validator, add_wallet,   add_data,    add_receipt, add_reputation, add_reservation, add_econ,
        add_dp,        add_demo,     add_testnet, add_version, add_completion, add_worker,      add_man};
    return all;
}

}  // namespace retrace::node::cli
