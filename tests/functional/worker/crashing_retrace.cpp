// SPDX-License-Identifier: MIT
// retrace with kernels that a program can crash: one of a task with the seed below writes where nothing is, in every
// step from the third on. In all else it is the real program, also as the worker that it starts.
#include <csignal>

#include "node/cli/cli.hpp"
#include "solver/worker/serve.hpp"
#include "tests/functional/worker/crashing_seed.hpp"

namespace retrace::testing {
namespace {

class CrashingRunner final : public solver::ProgramRunner {
public:
    using solver::ProgramRunner::ProgramRunner;
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state, const kernels::GoOn& go_on) override {
        if (state.step >= 2) std::raise(SIGSEGV);
        return solver::ProgramRunner::attempt(state, go_on);
    }
};

solver::WorkerRunner crashing_runner() {
    return [](solver::DeviceChoice device, const kernels::Program& program, kernels::Inputs inputs,
              kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
        if (inputs.seed == kCrashingSeed)
            return std::make_unique<CrashingRunner>(program, std::move(inputs), pool);
        return solver::honest_worker_runner()(device, program, std::move(inputs), pool);
    };
}

}  // namespace
}  // namespace retrace::testing

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty() || words.front() != "worker") return retrace::node::cli::run_main(argc, argv);
    const auto limits = retrace::solver::parse_worker_limits({words.begin() + 1, words.end()});
    return limits ? retrace::solver::run_worker(*limits, retrace::testing::crashing_runner()) : 2;
}
