// SPDX-License-Identifier: MIT
#include "solver/artifacts/group_artifacts.hpp"

#include <utility>

namespace retrace::solver {

CommittedPlan::CommittedPlan(kernels::GroupPlan plan)
    : root_(kernels::plan_root(plan)),
      steps_max_(plan.steps_max),
      shared_(plan.shared),
      public_tensors_(std::move(plan.public_tensors)) {
    for (kernels::PhaseProgram& phase : plan.phases)
        phases_.emplace(phase.phase,
                        CommittedPhase{kernels::CommittedProgram(std::move(phase.program)), phase.member_seed});
}

Result<std::unique_ptr<CommittedPlan>> fetch_plan(ArtifactSource& source, const Hash32& root, std::uint64_t limit) {
    RETRACE_TRY(bytes, source.program(root, limit));
    if (bytes.size() > limit) return error("plan " + to_hex(view(root)) + " is longer than the task says");
    RETRACE_TRY(plan, kernels::decode_plan(bytes));
    auto committed = std::make_unique<CommittedPlan>(std::move(plan));
    if (committed->root() != root)
        return error("the bytes served for plan " + to_hex(view(root)) + " do not hash to it");
    return committed;
}

Result<std::vector<kernels::Tensor>, Unavailable> fetch_message(ArtifactSource& source, const CommittedPlan& plan,
                                                                const std::vector<Hash32>& roots, std::uint64_t task,
                                                                std::uint32_t run, kernels::ThreadPool& pool) {
    const std::vector<std::uint32_t>& numbers = plan.public_tensors();
    if (roots.size() != numbers.size())
        return Unexpected{Unavailable{"a message with another number of tensors than the plan says", std::nullopt}};
    std::vector<const kernels::TensorRecord*> records;
    for (const std::uint32_t number : numbers) records.push_back(&plan.states().tensors[number]);
    auto arrived = source.message_tensors(roots, records, task, run);
    std::vector<kernels::Tensor> out;
    for (std::uint32_t i = 0; i < roots.size(); ++i) {
        const kernels::TensorRecord& record = *records[i];
        auto tensor = arrived[i] ? Result<kernels::Tensor>(std::move(*arrived[i]))
                                 : source.message_tensor(roots[i], record, task, run);
        const Status<> right = tensor ? check_fetched(*tensor, record, roots[i], pool) : error(tensor.error().message);
        if (!right) {
            const std::uint64_t tile = source.first_missing_tile(roots[i]);
            return Unexpected{Unavailable{"the message of run " + std::to_string(run) + ": " + right.error().message,
                                          ReportKind::message, run, i, tile}};
        }
        out.push_back(std::move(tensor).value());
    }
    return out;
}

}  // namespace retrace::solver
