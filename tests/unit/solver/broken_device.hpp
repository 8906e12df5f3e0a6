// SPDX-License-Identifier: MIT
// A device that fails on its first call.
#pragma once

#include <stdexcept>

#include "kernels/exec/executor.hpp"

namespace retrace::test {

class BrokenDevice final : public kernels::ExternalBackend {
public:
    std::uint64_t planned_bytes() const noexcept override { return 0; }
    void load(const kernels::State&, const kernels::Inputs&) override { fail(); }
    std::vector<kernels::Metric> advance() override { fail(); }
    void store(kernels::State&) override { fail(); }
    std::vector<Hash32> roots() override { fail(); }
    void begin_roots() override { fail(); }
    std::vector<Hash32> finish_roots() override { fail(); }
    void store_committed(kernels::State&) override { fail(); }
    std::vector<Hash32> trace(const kernels::State&, const kernels::Inputs&) override { fail(); }
    std::vector<kernels::Tensor> outputs(const kernels::State&, const kernels::Inputs&,
                                         const std::vector<std::uint32_t>&) override {
        fail();
    }

private:
    [[noreturn]] static void fail() { throw std::runtime_error("the device is gone"); }
};

}  // namespace retrace::test
