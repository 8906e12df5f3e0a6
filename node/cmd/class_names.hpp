// SPDX-License-Identifier: MIT
// Tells which numbers stand for labels that were texts.
#pragma once

#include <string>

#include "node/tasks/data/dataset.hpp"

namespace retrace::node::cli {

/// Lines like "class     0 is cat", at most twenty of them; empty if the labels were numbers.
std::string class_lines(const DataSet& data);

}  // namespace retrace::node::cli
