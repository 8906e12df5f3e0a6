// SPDX-License-Identifier: MIT
// A trained model as files.
#pragma once

#include <filesystem>
#include <map>

#include "kernels/exec/executor.hpp"
#include "node/artifacts/metrics_csv.hpp"
#include "node/tasks/evaluate.hpp"
#include "node/tasks/task_file.hpp"
#include "solver/export/safetensors.hpp"

namespace retrace::node {

/// Parameters and buffers of a state, without the optimiser's moments (".m", ".v", ".momentum" of a tensor
/// that is there).
std::vector<solver::NamedTensor> model_tensors(const kernels::Program& program, const kernels::State& state);

/// Writes model.safetensors and, of a task that came from TorchScript, model.pt, into a folder that is made
/// if need be. Returns the names of the files.
Result<std::vector<std::string>> write_model(const kernels::Program& program, const kernels::State& state,
                                             const std::map<std::string, std::string>& metadata,
                                             const TaskFile* task, const std::filesystem::path& folder);

/// What the task's evaluation program says of a state; an error where the task has no test data.
Result<Evaluation> evaluate_task(const TaskFile& task, const kernels::State& state,
                                 kernels::ThreadPool& pool);

}  // namespace retrace::node
