// SPDX-License-Identifier: MIT
#include "solver/artifacts/artifact_source.hpp"

namespace retrace::solver {
namespace {

using kernels::Tensor;

Unavailable not_served(std::string message, std::uint32_t tensor, std::uint64_t tile = 0) {
    return {std::move(message), ReportKind::state, 0, tensor, tile};
}

}  // namespace

Status<> check_fetched(const Tensor& tensor, const kernels::TensorRecord& record, const Hash32& root,
                       kernels::ThreadPool& pool) {
    const std::uint64_t elements = kernels::geometry(record.dims).elements();
    if (tensor.dtype != record.dtype || tensor.dims != record.dims ||
        tensor.data.size() != elements * kernels::size_of(record.dtype)) {
        return error("tensor " + to_hex(view(root)) + " has another dtype or shape than the program says");
    }
    if (kernels::tensor_root(tensor, pool) != root) {
        return error("the bytes served for tensor " + to_hex(view(root)) + " do not hash to it");
    }
    return Unit{};
}

Result<Tensor> fetch_tensor(ArtifactSource& source, const kernels::TensorRecord& record, const Hash32& root,
                            kernels::ThreadPool& pool) {
    RETRACE_TRY(tensor, source.tensor(root, record));
    RETRACE_CHECK(check_fetched(tensor, record, root, pool));
    return tensor;
}

Result<std::unique_ptr<kernels::CommittedProgram>> fetch_program(ArtifactSource& source, const Hash32& root,
                                                                 std::uint64_t limit) {
    RETRACE_TRY(bytes, source.program(root, limit));
    if (bytes.size() > limit) return error("program " + to_hex(view(root)) + " is longer than the task says");
    RETRACE_TRY(program, kernels::decode_program(bytes));
    auto committed = std::make_unique<kernels::CommittedProgram>(std::move(program));
    if (committed->root() != root)
        return error("the bytes served for program " + to_hex(view(root)) + " do not hash to it");
    return committed;
}

Result<std::vector<Tensor>, Unavailable> fetch_data(ArtifactSource& source, const kernels::Program& program,
                                                    const std::vector<Hash32>& roots, kernels::ThreadPool& pool) {
    if (roots.size() != program.datasets)
        return Unexpected{Unavailable{"the task names another number of data sets", std::nullopt, 0, 0}};
    std::vector<Tensor> data;
    for (std::uint32_t i = 0; i < program.datasets; ++i) {
        const kernels::TensorRecord& record = program.tensors[program.states + program.constants + i];
        auto tensor = fetch_tensor(source, record, roots[i], pool);
        if (!tensor) {
            const std::uint64_t tile = source.first_missing_tile(roots[i]);
            return Unexpected{Unavailable{tensor.error().message, ReportKind::data, i, 0, tile}};
        }
        data.push_back(std::move(tensor).value());
    }
    return data;
}

Result<kernels::State, Unavailable> fetch_state(ArtifactSource& source, const kernels::CommittedProgram& program,
                                                const Hash32& root, std::uint64_t step, kernels::ThreadPool& pool) {
    return fetch_state(source, program.root(), program.program(), root, step, pool);
}

Result<kernels::State, Unavailable> fetch_state(ArtifactSource& source, const Hash32& program_root,
                                                const kernels::Program& program, const Hash32& root, std::uint64_t step,
                                                kernels::ThreadPool& pool) {
    auto roots = source.state(root);
    if (!roots) return Unexpected{not_served(roots.error().message, 0)};
    if (roots->tensor_roots.size() != program.states) return Unexpected{not_served("a state of another program", 0)};
    const kernels::StateCommitment own = kernels::commit_roots(program_root, step, roots->tensor_roots);
    if (own.root != root) return Unexpected{not_served("the tensor roots served do not lead to the state root", 0)};
    kernels::State state;
    state.step = step;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        auto tensor = fetch_tensor(source, program.tensors[i], own.tensor_roots[i], pool);
        if (!tensor) {
            const std::uint64_t tile = source.first_missing_tile(own.tensor_roots[i]);
            return Unexpected{not_served(tensor.error().message, i, tile)};
        }
        state.tensors.push_back(std::move(tensor).value());
    }
    return state;
}

}  // namespace retrace::solver
