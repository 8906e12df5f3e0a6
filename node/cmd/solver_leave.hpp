// SPDX-License-Identifier: MIT
// A solver gives up its seat in a training in rounds.
#pragma once

#include "node/cmd/cli.hpp"

namespace retrace::node::cli {

/// Adds `leave` to `retrace solver`.
void add_solver_leave(CLI::App& solver, Program& program);

}  // namespace retrace::node::cli
