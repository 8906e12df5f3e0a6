// SPDX-License-Identifier: MIT
#include "node/tasks/initial_state.hpp"

#include <map>

#include "kernels/program/initialiser.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/platform/files.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/data/import.hpp"
#include "node/tasks/evaluate.hpp"

namespace retrace::node {

Result<kernels::State> read_initial_state(const std::filesystem::path& path, const kernels::Program& program) {
    auto file = read_file(path, kDataBytesMax);
    if (!file) return error(file.error().message);
    auto content = solver::decode_safetensors(*file);
    if (!content) return error(path.string() + ": " + content.error().message);
    std::map<std::string, kernels::Tensor*> given;
    for (solver::NamedTensor& named : content->tensors) {
        if (const auto cleaned = clean(named.tensor, named.name); !cleaned)
            return error(path.string() + ": " + cleaned.error().message);
        given[named.name] = &named.tensor;
    }
    kernels::State state;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const kernels::TensorRecord& record = program.tensors[i];
        const auto found = given.find(record.name);
        if (found == given.end()) {
            state.tensors.push_back(kernels::zeros(record.dtype, record.dims));
            continue;
        }
        if (found->second->dtype != record.dtype || found->second->dims != record.dims) {
            return error(path.string() + ": " + record.name + " has another shape than in the program");
        }
        state.tensors.push_back(std::move(*found->second));
        given.erase(found);
    }
    if (!given.empty()) return error(path.string() + ": the program has no state tensor " + given.begin()->first);
    return state;
}

Status<> write_initial_state(const std::vector<solver::NamedTensor>& tensors, const std::filesystem::path& path) {
    RETRACE_CHECK(write_durably(path, {solver::encode_safetensors({tensors, {{"format", "pt"}}})}));
    return Unit{};
}

Result<kernels::State> first_state(const TaskFile& task, const kernels::Program& program, kernels::ThreadPool& pool) {
    if (!task.initialiser) return read_initial_state(*task.initial_state, program);
    RETRACE_TRY(init, read_program(*task.initialiser));
    RETRACE_CHECK(kernels::check_initialiser(init, program));
    return kernels::run_initialiser(init, task.seed, pool);
}

}  // namespace retrace::node
