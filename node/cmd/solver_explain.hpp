// SPDX-License-Identifier: MIT
// What a solver chose and why: of a running solver from its data folder, or as a dry run.
#pragma once

#include <vector>

#include "node/agents/work_choice.hpp"
#include "node/cmd/cli.hpp"

namespace retrace::node::cli {

/// Prints the choices, one a line, or with --json as {"choices"}; returns the exit code.
int print_choices(const Program& program, const std::vector<Choice>& choices);

/// Adds `explain` to `retrace solver`.
void add_solver_explain(CLI::App& solver, Program& program);

}  // namespace retrace::node::cli
