// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "node/cmd/cli.hpp"

namespace retrace::node::cli {

const std::vector<AddCommand>& commands();

/// Not for people: how solvers and verifiers start their worker processes.
void add_worker(CLI::App& app, Program& program);

}  // namespace retrace::node::cli
