// SPDX-License-Identifier: MIT
#include <stdexcept>

#include "kernels/cuda/executor.hpp"

namespace retrace::kernels::cuda {
namespace {

/// The interface returns no errors, so a failure of the device is thrown and the creator of the back end handles it.
template <class T>
T value_of(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(result).value();
}

class Backend final : public ExternalBackend {
public:
    explicit Backend(std::unique_ptr<DeviceExecutor> executor) : executor_(std::move(executor)) {}

    std::uint64_t planned_bytes() const noexcept override { return executor_->planned_bytes(); }

    void load(const State& state, const Inputs& inputs) override { value_of(executor_->load(state, inputs)); }
    std::vector<Metric> advance() override { return value_of(executor_->step()); }
    void store(State& state) override { value_of(executor_->store(state)); }

    std::vector<Hash32> roots() override { return value_of(executor_->state_roots()); }
    void begin_roots() override { value_of(executor_->begin_commitment()); }
    std::vector<Hash32> finish_roots() override { return value_of(executor_->finish_commitment()); }
    void store_committed(State& state) override { value_of(executor_->store_committed(state)); }

    std::vector<Hash32> trace(const State& state, const Inputs& inputs) override {
        value_of(executor_->load(state, inputs));
        return value_of(executor_->trace());
    }

    std::vector<Tensor> outputs(const State& state, const Inputs& inputs,
                                const std::vector<std::uint32_t>& ops) override {
        value_of(executor_->load(state, inputs));
        return value_of(executor_->outputs(ops));
    }

private:
    std::unique_ptr<DeviceExecutor> executor_;
};

}  // namespace

Result<std::unique_ptr<ExternalBackend>> make_backend(const Program& program) {
    RETRACE_TRY(executor, DeviceExecutor::create(program));
    return std::unique_ptr<ExternalBackend>(std::make_unique<Backend>(std::move(executor)));
}

}  // namespace retrace::kernels::cuda
