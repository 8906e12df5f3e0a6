// SPDX-License-Identifier: MIT
#include "kernels/cuda/device_program.hpp"

#include "kernels/cuda/layout.hpp"
#include "kernels/exec/bands.hpp"
#include "kernels/exec/chunks.hpp"
#include "kernels/exec/recompute.hpp"

namespace retrace::kernels::cuda {
namespace {

/// Of a product that is computed again rather than kept: an element costs less than its way to memory and back.
constexpr std::uint64_t kProductTerms = 128;

}  // namespace

Program for_device(const Program& program) {
    RecomputeLimits again;
    again.product_terms = kProductTerms;
    return with_runs_in_chunks(with_constants_first(with_recomputation(program, again)));
}

std::vector<OpFacts> facts_of_ops(const Program& program) {
    std::vector<OpFacts> facts;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) facts.push_back(facts_of(program, i));
    return facts;
}

MemoryPlan plan_for_device(const Program& program) {
    return plan_memory(program, {false, false, Fusion::bands, kLongRowBytes});
}

std::uint64_t device_bytes(const Program& program) {
    const Program seen = for_device(program);
    return lay_out(seen, facts_of_ops(seen), plan_for_device(seen)).bytes;
}

}  // namespace retrace::kernels::cuda
