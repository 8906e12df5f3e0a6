// SPDX-License-Identifier: MIT
#include "node/tasks/model_files.hpp"

#include <set>

#include "kernels/builder/training.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/platform/files.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/torch_tool.hpp"

namespace retrace::node {

namespace fs = std::filesystem;

namespace {
/// What only a training in rounds has (kernels/builder/rounds.hpp) begins like this.
constexpr std::string_view kRoundsPrefix = "rounds.";
}  // namespace

std::vector<solver::NamedTensor> model_tensors(const kernels::Program& program, const kernels::State& state) {
    std::set<std::string> names;
    for (std::uint32_t i = 0; i < program.states; ++i) names.insert(program.tensors[i].name);
    const auto is_moment = [&](const std::string& name) {
        const std::size_t dot = name.rfind('.');
        if (dot == std::string::npos || !names.contains(name.substr(0, dot))) return false;
        const std::string suffix = name.substr(dot);
        return suffix == ".m" || suffix == ".v" || suffix == ".momentum";
    };
    return solver::named_tensors(program, state, [&](const std::string& name) {
        return !is_moment(name) && !name.starts_with(kRoundsPrefix) && name != kernels::kLossTensor;
    });
}

Result<std::vector<std::string>> write_model(const kernels::Program& program, const kernels::State& state,
                                             const std::map<std::string, std::string>& metadata, const TaskFile* task,
                                             const fs::path& folder) {
    std::error_code code;
    const bool made = fs::create_directories(folder, code);
    if (code) return error(folder.string() + ": " + code.message());
    const std::vector<solver::NamedTensor> tensors = model_tensors(program, state);
    const fs::path draft = folder / "model.pt.partial";
    const auto give_up = [&](const std::string& why) {
        fs::remove(draft, code);
        if (made) fs::remove(folder, code);
        return error(why);
    };
    std::vector<std::string> names{"model.safetensors"};
    if (task != nullptr && task->module) {
        const auto exported = export_model(*task->module, tensors, state.step, draft);
        if (!exported) return give_up(exported.error().message);
        names.push_back("model.pt");
    }
    const auto written = write_durably(folder / "model.safetensors", {solver::encode_safetensors({tensors, metadata})});
    if (!written) return give_up(written.error().message);
    if (names.size() > 1) fs::rename(draft, folder / "model.pt", code);
    if (code) return give_up((folder / "model.pt").string() + ": " + code.message());
    return names;
}

Result<Evaluation> evaluate_task(const TaskFile& task, const kernels::State& state, kernels::ThreadPool& pool) {
    if (!task.evaluation || !task.test_data) return error("the task has no test data");
    RETRACE_TRY(program, read_program(*task.evaluation));
    RETRACE_TRY(test, load_dataset(*task.test_data));
    std::vector<kernels::Tensor> data;
    for (DataSet::Part& part : test.parts) data.push_back(std::move(part.tensor));
    return evaluate(program, state, data, pool);
}

}  // namespace retrace::node
