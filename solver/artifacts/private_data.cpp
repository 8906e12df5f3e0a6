// SPDX-License-Identifier: MIT
#include "solver/artifacts/private_data.hpp"

#include <algorithm>

namespace retrace::solver {
namespace {

Unexpected<Unavailable> not_here(std::string why) {
    return Unexpected{Unavailable{std::move(why), std::nullopt, 0, 0, 0}};
}

}  // namespace

void PrivateData::add(const Hash32& root, kernels::Tensor tensor) {
    const std::lock_guard lock(mutex_);
    tensors_.insert_or_assign(root, std::move(tensor));
}

void PrivateData::allow(std::uint64_t task, const std::vector<Hash32>& roots) {
    const std::lock_guard lock(mutex_);
    allowed_[task].insert(roots.begin(), roots.end());
}

bool PrivateData::has(const std::vector<Hash32>& roots) const {
    const std::lock_guard lock(mutex_);
    return !roots.empty() &&
           std::all_of(roots.begin(), roots.end(), [&](const Hash32& root) { return tensors_.contains(root); });
}

Status<> PrivateData::compare(const kernels::Program& program, const std::vector<Hash32>& roots) const {
    if (roots.size() != program.datasets)
        return error("the task trains on " + std::to_string(program.datasets) + " data sets, and the member has " +
                     std::to_string(roots.size()) + "; name their folder with --data");
    for (std::uint32_t i = 0; i < program.datasets; ++i) {
        const kernels::TensorRecord& record = program.tensors[program.states + program.constants + i];
        const auto found = tensors_.find(roots[i]);
        if (found == tensors_.end())
            return error("this party has no private data with root " + to_hex(view(roots[i])) +
                         "; name their folder with --data");
        if (found->second.dtype != record.dtype || found->second.dims != record.dims)
            return error("the data of --data have other types or shapes than the task trains on");
    }
    return Unit{};
}

Status<> PrivateData::fits(const kernels::Program& program, const std::vector<Hash32>& roots) const {
    const std::lock_guard lock(mutex_);
    return compare(program, roots);
}

Result<std::vector<kernels::Tensor>, Unavailable> PrivateData::take(std::uint64_t task, const kernels::Program& program,
                                                                    const std::vector<Hash32>& roots) const {
    const std::lock_guard lock(mutex_);
    const auto allowed = allowed_.find(task);
    for (const Hash32& root : roots)
        if (allowed == allowed_.end() || !allowed->second.contains(root))
            return not_here("task " + std::to_string(task) + " may not use the private data with root " +
                            to_hex(view(root)) +
                            "; a solver names its requester with --data-for, a verifier its member with --data");
    if (const auto same = compare(program, roots); !same) return not_here(same.error().message);
    std::vector<kernels::Tensor> out;
    for (const Hash32& root : roots) out.push_back(tensors_.at(root));
    return out;
}

}  // namespace retrace::solver
