// SPDX-License-Identifier: MIT
#include <cstdio>

#include "kernels/commit/commitment.hpp"
#include "kernels/cuda/executor.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/cuda/device/parity.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"

namespace retrace::kernels::parity {
namespace {

/// Returns the root after `steps` steps on the device; compares the loss of every step and the final state with the
/// CPU's.
Result<Hash32> train(const golden::Recipe& recipe, int steps, ThreadPool& pool) {
    const TrainingPrograms programs = golden::programs(recipe);
    const auto [x, y] = golden::data(recipe.model);
    const Inputs inputs{golden::kSeed, {&x, &y}};
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    Executor cpu(programs.train, pool);
    RETRACE_TRY(device, cuda::DeviceExecutor::create(programs.train));
    RETRACE_CHECK(device->load(state, inputs));
    for (int i = 0; i < steps; ++i) {
        RETRACE_TRY(found, device->step());
        const std::vector<Metric> expected = cpu.step(state, inputs);
        if (found.size() != expected.size() || to_bits(found[0].value) != to_bits(expected[0].value)) {
            return error("another loss at step " + std::to_string(i));
        }
    }
    RETRACE_TRY(roots, device->state_roots());
    State stored = state;
    RETRACE_CHECK(device->store(stored));
    if (stored != state) return error("another state than the CPU's");
    return commit_roots(CommittedProgram(programs.train).root(), state.step, std::move(roots)).root;
}

}  // namespace

void check_trainings(int steps, const std::string& golden_file, ThreadPool& pool, Tally& tally) {
    const auto published = golden::roots(golden_file);
    for (const auto& [name, recipe] : golden::recipes()) {
        const std::string what = name + ", " + std::to_string(steps) + " steps";
        const auto root = train(recipe, steps, pool);
        if (!root) {
            tally.count(what + ": " + root.error().message, false);
            continue;
        }
        const std::string hex = to_hex(view(*root));
        std::printf("%s: %s\n", what.c_str(), hex.c_str());
        const auto expected = published.find(name + " " + std::to_string(steps));
        const bool known = expected != published.end();
        // Roots are published for 200 steps; an unreadable file must not count as agreement.
        tally.count(what + (known ? ": not the published root" : ": no published root in " + golden_file),
                    known ? expected->second == hex : steps != 200);
    }
}

}  // namespace retrace::kernels::parity
