// SPDX-License-Identifier: MIT
// The steps of `retrace task run`, wherever the state is.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/exec/executor.hpp"
#include "kernels/runtime/stop_token.hpp"
#include "node/artifacts/metrics_csv.hpp"
#include "node/tasks/task_file.hpp"

namespace retrace::node::cli {

using Losses = std::vector<std::pair<std::uint64_t, float>>;  // with their steps

struct LocalSteps {
    std::function<std::uint64_t()> step;  ///< Number of the present state.
    /// Makes a step; nullopt if `stop` requested it and the state is that before the call. It need not poll `stop`.
    std::function<std::optional<std::vector<kernels::Metric>>(const kernels::StopToken& stop)> advance;
    std::function<Status<>(const Losses& losses)> save;
    std::filesystem::path file;  ///< Where `save` saves it.
    std::chrono::milliseconds save_every{60'000};
};

/// Trains to the end. At a signal the step at hand is stopped where it can be, the state is saved, and the error says so; it is saved every minute too, or less often where
/// saves take long, for the power cut. Such a save that fails is only reported. Shows progress on a terminal.
Status<> run_steps(const TaskFile& task, const LocalSteps& training, Losses& losses);

MetricTable table_of(const Losses& losses);
/// What is left of a training whose result could not be measured or written, after it was saved in `file`.
std::string saved_after(const Error& failure, const Status<>& saved, const std::filesystem::path& file);
/// Says that an interrupted training goes on.
void note_resumed(std::uint64_t step, const std::filesystem::path& file);

}  // namespace retrace::node::cli
