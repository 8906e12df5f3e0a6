// SPDX-License-Identifier: MIT
// retrace with kernels that a program can crash: a task with the first of the seeds causes a memory fault in every step
// from the third on; the others keep their worker busy for ever. In all other respects it is the real program, also as
// the worker that it starts.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "node/cmd/cli.hpp"
#include "solver/worker/serve.hpp"
#include "tests/functional/worker/crashing_seed.hpp"

namespace retrace::testing {
namespace {

class CrashingRunner final : public solver::ProgramRunner {
public:
    using solver::ProgramRunner::ProgramRunner;
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        if (state.step >= 2) std::raise(SIGSEGV);
        return solver::ProgramRunner::attempt(state, stop);
    }
};

[[noreturn]] void sleep_for_ever() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Sends an allowed message length, and then its bytes one by one.
class DrippingRunner final : public solver::ProgramRunner {
public:
    using solver::ProgramRunner::ProgramRunner;
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State&, const kernels::StopToken&) override {
        constexpr int kLeast = 3, kMost = 8;  // One of these is the pipe to the party, the only writable one.
        const std::uint8_t length[4] = {0, 0, 1, 0};
        for (std::size_t i = 0;; ++i) {
            const std::uint8_t byte = length[std::min<std::size_t>(i, 3)];
            for (int pipe = kLeast; pipe <= kMost; ++pipe) (void)!::write(pipe, &byte, 1);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
};

solver::WorkerRunner crashing_runner() {
    return [](solver::DeviceChoice device, const kernels::Program& program, kernels::Inputs inputs,
              kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
        if (inputs.seed == kCrashingSeed) return std::make_unique<CrashingRunner>(program, std::move(inputs), pool);
        if (inputs.seed == kSilentSeed) sleep_for_ever();
        if (inputs.seed == kDrippingSeed) return std::make_unique<DrippingRunner>(program, std::move(inputs), pool);
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
