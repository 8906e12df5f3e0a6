// SPDX-License-Identifier: MIT
// Writes a trained model to files and evaluates it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>

#include "kernels/exec/executor.hpp"
#include "node/artifacts/metrics_csv.hpp"
#include "node/tasks/evaluate.hpp"
#include "node/tasks/task_file.hpp"
#include "solver/export/safetensors.hpp"

namespace retrace::node {

/// Returns the parameters and buffers of a state, without the optimiser's moments (".m", ".v", ".momentum" after the
/// name of another tensor) and without what a member of a training in rounds has beside them ("rounds.") and metrics
/// (kernels::is_metric_tensor).
std::vector<solver::NamedTensor> model_tensors(const kernels::Program& program, const kernels::State& state);

/// Whether a state tensor is one of these.
bool is_model_tensor(const kernels::Program& program, std::uint32_t state);

/// Writes model.safetensors, one tensor after the other: `tensor` returns one by its number in the state.
Status<> write_model_tensors(const kernels::Program& program, const std::map<std::string, std::string>& metadata,
                             const std::function<kernels::Tensor(std::uint32_t state)>& tensor,
                             const std::filesystem::path& folder);

/// Writes model.safetensors and, for a task compiled from TorchScript, model.pt into a folder, which is created if
/// needed. Returns the names of the files.
Result<std::vector<std::string>> write_model(const kernels::Program& program, const kernels::State& state,
                                             const std::map<std::string, std::string>& metadata, const TaskFile* task,
                                             const std::filesystem::path& folder);

/// Evaluates a state with the task's evaluation program; fails if the task has no test data.
Result<Evaluation> evaluate_task(const TaskFile& task, const kernels::State& state, kernels::ThreadPool& pool);

}  // namespace retrace::node
