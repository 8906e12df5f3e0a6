// SPDX-License-Identifier: MIT
#include "kernels/cuda/device_program.hpp"

#include <limits>

#include "kernels/cuda/layout.hpp"
#include "kernels/exec/chunks.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::kernels::cuda {
namespace {

/// Maximum terms per element of a product that is recomputed instead of kept. Chosen without measurement
/// (decisions/010).
constexpr std::uint64_t kProductTerms = 128;

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr Limits kNoLimits{std::numeric_limits<std::uint32_t>::max(), std::numeric_limits<std::uint32_t>::max(), kAny,
                           kAny, kAny};

/// Returns the bytes of the memory block that a device needs to run exactly `program`.
std::uint64_t block_bytes(const Program& program) {
    return lay_out(program, facts_of_ops(program), plan_for_device(program)).bytes;
}

}  // namespace

Program for_device(const Program& program, std::uint64_t room) {
    RematerialiseLimits again;
    again.product_terms = kProductTerms;
    const Program early = with_constants_first(program);
    const Program rewritten = with_constants_first(rematerialise(program, again));
    Program best = program;
    std::uint64_t least = kAny;
    // The first computes nothing twice, the last copies the most. A program that fails `check` is skipped, because no
    // plan would reveal an error of a rewriting. On a tie of memory, the program that was changed less is taken.
    for (const Program& seen : {early, rewritten, with_runs_in_chunks(rewritten)}) {
        if (!check(seen, kNoLimits)) continue;
        const std::uint64_t bytes = block_bytes(seen);
        if (bytes <= room) return seen;
        if (bytes < least) best = seen, least = bytes;
    }
    return best;
}

std::vector<OpFacts> facts_of_ops(const Program& program) {
    std::vector<OpFacts> facts;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) facts.push_back(facts_of(program, i));
    return facts;
}

MemoryPlan plan_for_device(const Program& program) {
    return plan_memory(program, {false, false, Fusion::runs, kLongRowBytes});
}

std::uint64_t device_bytes(const Program& program) { return block_bytes(for_device(program)); }

}  // namespace retrace::kernels::cuda
