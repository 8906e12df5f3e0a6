// SPDX-License-Identifier: MIT
// The flags of `retrace task run`, and its form for trainings in rounds.
#pragma once

#include <string>
#include <vector>

#include "kernels/exec/executor.hpp"
#include "node/artifacts/metrics_csv.hpp"
#include "node/cmd/cli.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/task_file.hpp"

namespace retrace::node::cli {

struct TaskRunFlags {
    std::string folder, out, device = "auto";
    unsigned threads = 0;
    std::uint32_t members = 0;             ///< 0: as many as the task names.
    std::uint32_t regions = 0;             ///< 0: as many as the task names.
    std::vector<std::string> member_data;  ///< Folders of the members' own data, by run; the others have the task's.
    bool local = false, evaluate = false, outliers = false;
    std::string offload;           ///< Folder on the disk that takes what does not fit the memory; empty: none.
    std::uint64_t memory_mib = 0;  ///< With `offload`; 0: three quarters of what is free.
};

/// Writes the model's files and metrics.csv.
Status<> write_results(const TaskFile& task, const kernels::Program& train, const kernels::State& state,
                       const MetricTable& table, const std::string& folder);

/// Trains in less memory than the state takes (--offload). `file` keeps an interrupted training.
int run_offloaded(const Program& program, const TaskFile& task, const kernels::Program& step, const DataSet& data,
                  const TaskRunFlags& flags, const std::filesystem::path& file);

/// Trains with all members in this process. `inputs`: the data of the inner steps.
int run_rounds(const Program& program, const TaskFile& task, const kernels::Program& train,
               const kernels::Inputs& inputs, const TaskRunFlags& flags);

}  // namespace retrace::node::cli
