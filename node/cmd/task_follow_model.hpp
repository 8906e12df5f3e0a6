// SPDX-License-Identifier: MIT
// Keeps the newest model of a training in rounds in a folder while it is followed.
#pragma once

#include "node/agents/model_follower.hpp"
#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {

class ModelWriter {
public:
    /// `at` outlives the writer. `task`: the compiled task, for the names of the plain model; without it the parameters
    /// are written as the plan names them. `data_dir`: the requester's store, which is open during `block` only. `runners`:
    /// as ModelFollower's.
    ModelWriter(const Program& program, ChainSession& at, std::uint64_t id, std::optional<TaskFile> task,
                std::filesystem::path folder, std::string data_dir, solver::RunnerFactory runners);

    /// Takes in what is new, replaces model.safetensors, and says of which round it is and whether it is final: as a
    /// line on standard error, with --json as an object on standard output. A problem is told once, and tried again at
    /// the next call.
    void block(const TaskStatus& status);

private:
    Status<> update();
    Status<> write() const;
    void tell() const;

    const Program& program_;
    ChainSession& at_;
    std::uint64_t id_;
    std::optional<TaskFile> task_;
    std::filesystem::path folder_;
    std::string data_dir_;
    ModelFollower follower_;
    std::uint32_t rounds_ = 0;
    bool written_ = false, final_ = false;
    std::string problem_;  ///< As last told.
};

}  // namespace retrace::node::cli
