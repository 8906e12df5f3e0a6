// SPDX-License-Identifier: MIT
// Inner loops that are compiled once for each instruction set (loops_generic.cpp, loops_avx2.cpp, loops_avx512.cpp, all
// from loops_body.hpp). They are plain functions on pointers, so that the linker cannot share anything between the
// copies.
#pragma once

#include <cstddef>

#include "kernels/ops/opcode.hpp"

namespace retrace::kernels {

struct LoopOperand {
    const void* data = nullptr;
    bool moves = true;  ///< Advances with the output; otherwise its one element is used for all outputs.
};

/// out[i] = op(in[0][i or 0], …) for i < n. `out` may be a moving operand of the same element size.
using ElementLoop = void (*)(const LoopOperand* in, void* out, std::size_t n);

struct Loops {
    /// Returns the loop by op, dtype of the first operand (of the second for select) and dtype of the output.
    ElementLoop (*element)(OpCode code, DType in, DType out);
    /// One level of one result: n <= 256 consecutive terms.
    float (*row_sum)(const float* x, std::size_t n);
    float (*row_max)(const float* x, std::size_t n);
    /// row_max of many rows of cols <= 256 terms.
    void (*rows_max)(const float* x, std::size_t rows, std::size_t cols, float* out);
    /// Column of the first greatest term in each of many rows of cols <= 256 terms.
    void (*rows_argmax)(const float* x, std::size_t rows, std::size_t cols, std::int32_t* out);
    /// Places of the `count` elements of the greatest magnitude in a row of cols <= 512, ascending (row_top).
    void (*row_top)(const std::uint32_t* x, std::size_t cols, std::size_t count, std::int32_t* out);
    /// One level of `cols` results: n <= 256 rows that are `stride` elements apart.
    void (*col_sum)(const float* x, std::size_t stride, std::size_t n, std::size_t cols, float* out);
    void (*col_max)(const float* x, std::size_t stride, std::size_t n, std::size_t cols, float* out);
    /// accumulate: carried[i] += x[i]; finish: the epilogue of chains.
    void (*accumulate)(float* carried, const float* x, std::size_t n);
    void (*finish)(float* x, std::size_t n);
};

Loops loops_generic();
Loops loops_avx2();
Loops loops_avx512();
/// Returns the copy for this machine (RETRACE_CPU overrides it, kernels/runtime).
const Loops& loops();

}  // namespace retrace::kernels
