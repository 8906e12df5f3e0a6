// SPDX-License-Identifier: MIT
// The floating-point environment of the contract (contract 1): round to nearest even, subnormals kept, no traps. A
// thread's environment is its program's to choose, and libraries choose others: a program linked with fast-math and
// LibTorch's set_flush_denormal turn subnormals off. Kernels would compute other bits there, and say nothing.
#pragma once

#include <cstdint>

namespace retrace::kernels {

/// Gives the calling thread the contract's environment, and back what it had.
class FloatEnvironment {
public:
    FloatEnvironment() noexcept;
    ~FloatEnvironment();
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

private:
    std::uint64_t before_;
};

}  // namespace retrace::kernels
