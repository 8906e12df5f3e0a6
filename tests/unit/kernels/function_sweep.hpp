// SPDX-License-Identifier: MIT
// Tests every function of one argument over many or all of its 2^32 inputs: each back end of the machine against the
// scalar loops bit for bit, and those against the C library's double precision and the special values of
// kernels/SPEC.md 2.2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/ops/cpu/loops.hpp"

namespace retrace::kernels::sweep {

struct Function {
    const char* name;
    /// Runs the function's loop for n inputs. Inputs and results are bits of fp32 or int32.
    void (*run)(const Loops& loops, const std::uint32_t* in, std::uint32_t* out, std::size_t n);
    /// Error of the value before the epilogue in ulps; HUGE_VAL if `stored` is not its epilogue, or not the special
    /// value that the specification gives for this input.
    double (*error)(std::uint32_t in, std::uint32_t stored);
    /// The same for n consecutive inputs of one binade, accurate to kEstimate but in a tenth of the time: the exact
    /// values come from a polynomial through some of them. Returns false where there may be none, and leaves `errors`
    /// unchanged. Null where `error` is cheap.
    bool (*estimate)(const std::uint32_t* in, const std::uint32_t* stored, std::size_t n, double* errors);
    /// Error of the exact value in double precision relative to the one in long double, in units of 2^-53. Null where
    /// the exact value is defined by its bits.
    double (*library_error)(std::uint32_t in);
    double most_ulps;  ///< Error bound of SPEC 2.2.
};

/// All functions of one argument of the op set, and 1 / x, which is an op with two operands.
const std::vector<Function>& functions();

inline constexpr double kEstimate = 0x1p-12;

struct NamedLoops {
    std::string name;
    Loops loops;
};

/// Vector loops that this machine supports.
std::vector<NamedLoops> vector_loops();

/// Inputs i · step for all i with i · step < 2^32.
struct Inputs {
    std::uint64_t step = 1;
};

struct Difference {
    std::string loops;
    std::uint32_t in = 0, want = 0, got = 0;
};

struct Outcome {
    std::uint64_t tried = 0;
    double worst = 0;
    std::uint32_t worst_at = 0;
    std::vector<Difference> differences;  ///< The first difference of each stretch that has any.
};

/// Checks `reference` with `function.error`, and that `others` give the same bits. `progress` is called from time to
/// time with the fraction done.
Outcome sweep(const Function& function, const Loops& reference, const std::vector<NamedLoops>& others, Inputs inputs,
              const std::function<void(double done)>& progress = {});

}  // namespace retrace::kernels::sweep
