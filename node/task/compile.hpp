// SPDX-License-Identifier: MIT
// From a built-in model and a data set to a task folder (`retrace task compile`).
#pragma once

#include <filesystem>
#include <string>

#include "kernels/builder/training.hpp"
#include "node/data/idx.hpp"
#include "node/task/task_file.hpp"

namespace retrace::node {

struct CompileRequest {
    kernels::ModelSpec model;        ///< `input` and `classes` are taken from the data.
    kernels::TrainingSpec training;  ///< `samples` is taken from the data.
    TaskFile task;              ///< Name, steps, interval, seed and the terms of the market; paths are set.
    std::filesystem::path out;  ///< A folder that does not exist or is empty.
};

/// "fashion-mnist" (Debian's package), a folder of IDX files, or a folder written by `retrace data import`.
/// `flat`: a sample is a vector (mlp), otherwise an image [1, rows, cols].
Result<DataSet> open_data(const std::string& data, Split split, bool flat);

/// Writes task.toml, program.rtp, init.rtp, eval.rtp (when `test` is given), data/ and test_data/ into
/// request.out. The folder appears whole or not at all.
Result<TaskFile> compile_task(const CompileRequest& request, const DataSet& train, const DataSet* test);

}  // namespace retrace::node
