// SPDX-License-Identifier: MIT
#include "verifier/replay/replay_steps.hpp"

#include <utility>

namespace retrace::verifier {
namespace {

class ProgramSteps final : public ReplaySteps {
public:
    explicit ProgramSteps(ReplaySetup setup) : setup_(std::move(setup)) {}

    PlayedStep at(std::uint64_t t) override { return {*setup_.runner, setup_.seed, t}; }
    const kernels::CommittedProgram& program_at(std::uint64_t) const override { return *setup_.played; }
    std::vector<const kernels::Tensor*> datasets_at(std::uint64_t) override { return setup_.datasets; }
    const kernels::CommittedProgram& opened_at(std::uint64_t) const override { return *setup_.program; }
    const Hash32& root() const override { return setup_.program->root(); }
    std::uint64_t header_step(std::uint64_t t) const override { return t; }
    std::unique_ptr<solver::Computation> compute(kernels::State& state) override {
        return setup_.runner->train(*setup_.program, state, *setup_.pool);
    }

private:
    ReplaySetup setup_;
};

}  // namespace

std::unique_ptr<ReplaySteps> steps_of(ReplaySetup setup) { return std::make_unique<ProgramSteps>(std::move(setup)); }

}  // namespace retrace::verifier
