// SPDX-License-Identifier: MIT
// The floating-point environment of the contract (contract 1): round to nearest even, subnormals kept, no traps. A host
// program or its libraries may set another one: a program linked with fast-math and LibTorch's set_flush_denormal both
// turn subnormals off, and kernels would then silently compute other bits.
#pragma once

#include <cstdint>

namespace retrace::kernels {

/// Sets the contract's environment for the calling thread and restores the previous one when destroyed.
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
