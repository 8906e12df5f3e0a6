// SPDX-License-Identifier: MIT
// Every function of one argument over many or all of its 2^32 inputs: each back end of the machine against the scalar
// loops bit for bit, and those against the C library's double precision and the special values of kernels/SPEC.md 2.2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/ops/cpu/loops.hpp"

namespace retrace::kernels::sweep {

struct Function {
    const char* name;
    /// The function's loop for n inputs. Inputs and results are bits of fp32 or int32.
    void (*run)(const Loops& loops, const std::uint32_t* in, std::uint32_t* out, std::size_t n);
    /// How far the value before the epilogue is from the exact one, in ulps; HUGE_VAL where `stored` is not its
    /// epilogue, or not the special value that the specification gives for this input.
    double (*error)(std::uint32_t in, std::uint32_t stored);
    /// The same for n inputs of one binade that follow each other, to within kEstimate but in a tenth of the time: the
    /// exact values are taken from a polynomial through some of them. False where there may be none, which leaves
    /// `errors` as it is. Null where `error` takes no time.
    bool (*estimate)(const std::uint32_t* in, const std::uint32_t* stored, std::size_t n, double* errors);
    /// Of the exact value in double precision from the one in long double, in units of 2^-53 of it. Null where the
    /// exact value is a matter of bits.
    double (*library_error)(std::uint32_t in);
    double most_ulps;  ///< What SPEC 2.2 promises.
};

/// All functions of one argument of the op set, and 1 / x, which is an op of two.
const std::vector<Function>& functions();

inline constexpr double kEstimate = 0x1p-12;

struct NamedLoops {
    std::string name;
    Loops loops;
};

/// Those of this machine beside the scalar ones.
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
    std::vector<Difference> differences;  ///< The first of every stretch that has one.
};

/// `reference` is judged by `function.error`, `others` must give its bits. `progress` is told the part that is done,
/// from time to time.
Outcome sweep(const Function& function, const Loops& reference, const std::vector<NamedLoops>& others, Inputs inputs,
              const std::function<void(double done)>& progress = {});

}  // namespace retrace::kernels::sweep
