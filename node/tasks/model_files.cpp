// SPDX-License-Identifier: MIT
#include "node/tasks/model_files.hpp"

#include <algorithm>
#include <span>

#include "kernels/builder/training.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/platform/files.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/file_stream.hpp"
#include "node/tasks/torch_tool.hpp"

namespace retrace::node {

namespace fs = std::filesystem;

namespace {
/// What only a training in rounds has (kernels/builder/rounds.hpp) begins like this.
constexpr std::string_view kRoundsPrefix = "rounds.";
}  // namespace

bool is_model_tensor(const kernels::Program& program, std::uint32_t state) {
    const std::string& name = program.tensors[state].name;
    if (name.starts_with(kRoundsPrefix) || kernels::is_metric_tensor(name)) return false;
    const std::size_t dot = name.rfind('.');
    const std::string suffix = dot == std::string::npos ? "" : name.substr(dot);
    if (suffix != ".m" && suffix != ".v" && suffix != ".momentum") return true;
    const auto states = std::span(program.tensors).first(program.states);
    return std::none_of(states.begin(), states.end(),
                        [&](const kernels::TensorRecord& other) { return other.name == name.substr(0, dot); });
}

std::vector<solver::NamedTensor> model_tensors(const kernels::Program& program, const kernels::State& state) {
    std::vector<solver::NamedTensor> out;
    for (std::uint32_t i = 0; i < program.states; ++i)
        if (is_model_tensor(program, i)) out.push_back({program.tensors[i].name, state.tensors[i]});
    return out;
}

Status<> write_model_tensors(const kernels::Program& program, const std::map<std::string, std::string>& metadata,
                             const std::function<kernels::Tensor(std::uint32_t state)>& tensor,
                             const fs::path& folder) {
    std::error_code code;
    fs::create_directories(folder, code);
    solver::TensorFile file{{}, metadata};
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const kernels::TensorRecord& record = program.tensors[i];
        if (is_model_tensor(program, i)) file.tensors.push_back({record.name, {record.dtype, record.dims, {}}});
    }
    RETRACE_TRY(out, FileStream::open(folder / "model.safetensors"));
    RETRACE_CHECK(out.append(solver::encode_safetensors_head(file)));
    for (std::uint32_t i = 0; i < program.states; ++i)
        if (is_model_tensor(program, i)) RETRACE_CHECK(out.append(tensor(i).data));
    return out.finish();
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
