// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "kernels/exec/executor.hpp"
#include "node/tasks/task_file.hpp"
#include "solver/export/safetensors.hpp"

namespace retrace::node {

/// Reads the state before step 0 from a safetensors file: state tensors of the program by name; those that the file
/// lacks (the optimiser's moments) are zeros. Tensors that the program does not know or that have another shape are
/// errors, as are NaN and infinities; subnormals become zeros of their sign (contract 1).
Result<kernels::State> read_initial_state(const std::filesystem::path& path, const kernels::Program& program);
/// Writes such a file.
Status<> write_initial_state(const std::vector<solver::NamedTensor>& tensors, const std::filesystem::path& path);

/// Returns the task's initial state: the result of its initialiser with its seed, or its named initial state.
Result<kernels::State> first_state(const TaskFile& task, const kernels::Program& program, kernels::ThreadPool& pool);

}  // namespace retrace::node
