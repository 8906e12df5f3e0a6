// SPDX-License-Identifier: MIT
// Compiles a model and a data set to a task folder (`retrace task compile`).
#pragma once

#include <filesystem>
#include <string>

#include "kernels/builder/rounds.hpp"
#include "node/tasks/open_data.hpp"
#include "node/tasks/task_file.hpp"

namespace retrace::node {

/// A training in rounds.
struct RoundsRequest {
    GroupTerms terms;  ///< `plan` and `inner` are set.
    kernels::RoundsSpec spec;
};

struct CompileRequest {
    kernels::ModelSpec model;        ///< A built-in model; `input` and `classes` are taken from the data.
    std::filesystem::path module;    ///< A TorchScript file to use instead of `model`.
    kernels::TrainingSpec training;  ///< `samples` is taken from the data.
    std::filesystem::path start;     ///< A safetensors file with the initial weights; empty: the model's own.
    std::optional<RoundsRequest> rounds;
    TaskFile task;                 ///< Name, steps, interval, seed and the terms of the market; paths are set.
    std::filesystem::path out;     ///< A folder that does not exist or is empty.
    bool require_sandbox = false;  ///< Whether a TorchScript file is read only in a sandbox.
};

/// Writes task.toml, program.rtp, eval.rtp and test_data/ (when `test` is given), data/, and init.rtp into request.out;
/// for TorchScript and for given weights initial.safetensors (and module.pt) instead of init.rtp; for rounds plan.rtg
/// too. The folder appears
/// complete or not at all.
Result<TaskFile> compile_task(const CompileRequest& request, const DataSet& train, const DataSet* test);

}  // namespace retrace::node
