// SPDX-License-Identifier: MIT
// A program as a part of a larger one.
#pragma once

#include "kernels/builder/graph.hpp"

namespace retrace::kernels {

/// Writes the ops, constants, data sets and metrics of `program` into the graph, reading `states` for its state tensors
/// (of their types and extents). Returns the next value of each: its own if the program does not write it.
std::vector<Value> embed(Graph& g, const Program& program, const std::vector<Value>& states);

}  // namespace retrace::kernels
