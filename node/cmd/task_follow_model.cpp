// SPDX-License-Identifier: MIT
#include "node/cmd/task_follow_model.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/platform/printable.hpp"
#include "node/tasks/group_task.hpp"
#include "node/tasks/model_files.hpp"

namespace retrace::node::cli {

namespace json = boost::json;

ModelWriter::ModelWriter(const Program& program, ChainSession& at, std::uint64_t id, std::optional<TaskFile> task,
                         std::filesystem::path folder, std::string data_dir, solver::RunnerFactory runners)
    : program_(program),
      at_(at),
      id_(id),
      task_(std::move(task)),
      folder_(std::move(folder)),
      data_dir_(std::move(data_dir)),
      follower_(at.chain, id, std::move(runners)) {}

void ModelWriter::block(const TaskStatus& status) {
    if (!status.group || status.group->now.phase == market::GroupPhase::starting) return;
    const bool is_new = !written_ || follower_.rounds() < status.group->now.round || !final_;
    if (!is_new) return;
    const auto updated = update();
    if (updated) return problem_.clear();
    if (problem_ == updated.error().message) return;
    problem_ = updated.error().message;
    std::cerr << "the model is not newer yet: " << printable(problem_) << std::endl;
}

Status<> ModelWriter::update() {
    RETRACE_TRY(changed, follower_.advance([this] { return open_store(data_dir_); }));
    if (!changed && written_ && final_ == follower_.is_final()) return Unit{};
    RETRACE_CHECK(write());
    written_ = true;
    rounds_ = follower_.rounds();
    final_ = follower_.is_final();
    tell();
    return Unit{};
}

Status<> ModelWriter::write() const {
    const std::map<std::string, std::string> metadata{{"format", "pt"},
                                                      {"retrace.task", std::to_string(id_)},
                                                      {"retrace.rounds", std::to_string(follower_.rounds())},
                                                      {"retrace.final", follower_.is_final() ? "true" : "false"}};
    const auto written = [&](const kernels::Program& program, const kernels::State& state, const TaskFile* task) {
        const auto names = write_model(program, state, metadata, task, folder_);
        return names ? Status<>(Unit{}) : Status<>(error(names.error().message));
    };
    if (!task_) return written(follower_.program(), follower_.state(), nullptr);
    RETRACE_TRY(plain, read_program(task_->program));
    RETRACE_TRY(state, model_state(follower_.program(), follower_.state(), plain, task_->steps));
    return written(plain, state, &*task_);
}

void ModelWriter::tell() const {
    const std::string path = (folder_ / "model.safetensors").string();
    std::cerr << "model after round " << rounds_ << " written to " << path
              << (final_ ? ", final" : ", final up to round " + std::to_string(follower_.final_rounds())) << std::endl;
    if (program_.json)
        std::cout << json::serialize(json::object{{"task", id_},
                                                  {"model", path},
                                                  {"rounds", rounds_},
                                                  {"final_rounds", follower_.final_rounds()},
                                                  {"final", final_}})
                  << std::endl;
}

}  // namespace retrace::node::cli
