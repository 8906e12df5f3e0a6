// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "node/cmd/cli.hpp"

namespace retrace::node::cli {

const std::vector<AddCommand>& commands();

/// Internal: solvers and verifiers start their worker processes with it.
void add_worker(CLI::App& app, Program& program);
/// Hidden: packages make the manual pages with it.
void add_man(CLI::App& app, Program& program);

}  // namespace retrace::node::cli
