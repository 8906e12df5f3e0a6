// SPDX-License-Identifier: MIT
#include "solver/artifacts/private_data.hpp"

#include <algorithm>

namespace retrace::solver {
namespace {

Unexpected<Unavailable> not_here(std::string why) {
    return Unexpected{Unavailable{std::move(why), std::nullopt, 0, 0, 0}};
}

}  // namespace

bool PrivateData::has(const std::vector<Hash32>& roots) const {
    return !roots.empty() &&
           std::all_of(roots.begin(), roots.end(), [&](const Hash32& root) { return tensors_.contains(root); });
}

Result<std::vector<kernels::Tensor>, Unavailable> PrivateData::take(const kernels::Program& program,
                                                                    const std::vector<Hash32>& roots) const {
    if (roots.size() != program.datasets)
        return not_here("the task trains on " + std::to_string(program.datasets) + " data sets, and the member has " +
                        std::to_string(roots.size()) + "; name their folder with --data");
    std::vector<kernels::Tensor> out;
    for (std::uint32_t i = 0; i < program.datasets; ++i) {
        const kernels::TensorRecord& record = program.tensors[program.states + program.constants + i];
        const auto found = tensors_.find(roots[i]);
        if (found == tensors_.end())
            return not_here("this party has no private data with root " + to_hex(view(roots[i])) +
                            "; name their folder with --data");
        if (found->second.dtype != record.dtype || found->second.dims != record.dims)
            return not_here("the data of --data have other types or shapes than the task trains on");
        out.push_back(found->second);
    }
    return out;
}

}  // namespace retrace::solver
