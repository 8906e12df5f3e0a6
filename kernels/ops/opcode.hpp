// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/program/dtype.hpp"

namespace retrace::kernels {

/// Wire-stable and never reused (kernels/ops/SPEC.md lists each op's attributes, shapes, cost and element rule).
enum class OpCode : std::uint16_t {
    matmul = 0x0101,

    neg = 0x0201,
    abs = 0x0202,
    exp = 0x0203,
    log = 0x0204,
    tanh = 0x0205,
    sigmoid = 0x0206,
    erf = 0x0207,
    sqrt = 0x0208,
    rsqrt = 0x0209,
    relu = 0x020a,
    sin_turns = 0x020b,
    cos_turns = 0x020c,
    convert = 0x0220,

    add = 0x0301,
    sub = 0x0302,
    mul = 0x0303,
    div = 0x0304,
    max = 0x0305,
    min = 0x0306,
    pow = 0x0307,
    powi = 0x0308,
    fma = 0x0320,
    add_wrap = 0x0330,
    sub_wrap = 0x0331,
    and_bits = 0x0332,

    equal = 0x0401,
    less = 0x0402,
    less_equal = 0x0403,
    greater = 0x0404,
    greater_equal = 0x0405,
    logical_and = 0x0410,
    logical_or = 0x0411,
    logical_not = 0x0412,
    select = 0x0420,

    row_sum = 0x0501,
    col_sum = 0x0502,
    row_max = 0x0503,
    col_max = 0x0504,
    row_argmax = 0x0505,
    row_argmax_pick = 0x0506,
    row_top = 0x0507,
    row_pick = 0x0508,
    row_add_at = 0x0509,

    gather_rows = 0x0601,
    scatter_add_rows = 0x0602,
    put_rows = 0x0603,

    reshape = 0x0701,
    permute = 0x0702,
    slice = 0x0703,
    concat = 0x0704,
    pad = 0x0705,

    window_gather = 0x0801,
    window_scatter = 0x0802,

    fill = 0x0901,
    iota = 0x0902,
    step_number = 0x0903,
    philox_uniform = 0x0904,
    philox_normal = 0x0905,
    batch_index = 0x0906,
    sequential_index = 0x0907,
    chacha_bits = 0x0909,
};

}  // namespace retrace::kernels
