// SPDX-License-Identifier: MIT
#include "kernels/cuda/ops.hpp"

#include <functional>
#include <numeric>

#include "kernels/matmul/slices.hpp"
#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/matmul_shape.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/ops/window_shape.hpp"

namespace retrace::kernels::cuda {
namespace {

template <class T>
const T* in(const DeviceCall& call, std::size_t slot) {
    return reinterpret_cast<const T*>(call.inputs[slot]);
}
template <class T>
T* out(const DeviceCall& call) {
    return reinterpret_cast<T*>(call.output);
}

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// ---- products ----

/// Offsets of the digits and scales of both operands in the workspace.
struct ProductSpace {
    std::uint64_t digits_a, scales_a, digits_b, scales_b, bytes;
};

ProductSpace product_space(const MatmulShape& s) {
    const std::uint32_t slices = slices_of(s.precision);
    const auto digits = [&](std::uint64_t vectors) { return aligned(digit_bytes(slices, s.batch, vectors, s.k)); };
    const auto scales = [&](std::uint64_t vectors) {
        return aligned(scale_bytes(s.batch, vectors, matmul_blocks(s.k)));
    };
    ProductSpace at{};
    at.scales_a = at.digits_a + digits(s.m);
    at.digits_b = at.scales_a + scales(s.m);
    at.scales_b = at.digits_b + digits(s.n);
    at.bytes = at.scales_b + scales(s.n);
    return at;
}

void queue_matmul(const DeviceCall& call) {
    const MatmulShape s = matmul_shape(call.facts);
    if (s.batch == 0 || s.m == 0 || s.n == 0) return;
    float* const c = out<float>(call);
    if (s.k == 0) return fill_bits(call.stream, 4, call.output, s.batch * s.m * s.n, 0);
    if (s.precision == Precision::f32) {
        return multiply_chains(call.stream, in<float>(call, 0), s.transposed_a, in<float>(call, 1), s.transposed_b, c,
                               s.batch, s.m, s.n, s.k);
    }
    const ProductSpace at = product_space(s);
    const auto slices = [&](std::uint64_t digits, std::uint64_t scales) {
        return Slices{reinterpret_cast<std::int8_t*>(call.workspace + digits),
                      reinterpret_cast<float*>(call.workspace + scales)};
    };
    const Slices a = slices(at.digits_a, at.scales_a), b = slices(at.digits_b, at.scales_b);
    slice_vectors(call.stream, s.precision, in<float>(call, 0), s.transposed_a, s.batch, s.m, s.k, a);
    slice_vectors(call.stream, s.precision, in<float>(call, 1), !s.transposed_b, s.batch, s.n, s.k, b);
    multiply_slices(call.stream, s.precision, a, b, c, s.batch, s.m, s.n, s.k, call.unit);
}

// ---- movement ----

std::vector<std::uint64_t> strides_of(const Dims& dims) {
    std::vector<std::uint64_t> strides(dims.size());
    std::uint64_t stride = 1;
    for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
    return strides;
}

BoxCopy box_of(const Dims& extent, const std::vector<std::uint64_t>& from, const std::vector<std::uint64_t>& to) {
    BoxCopy box;
    box.rank = static_cast<std::uint32_t>(extent.size());
    for (std::size_t i = 0; i < extent.size(); ++i) {
        box.extent[i] = extent[i];
        box.from_stride[i] = from[i];
        box.to_stride[i] = to[i];
    }
    return box;
}

void queue_box(const DeviceCall& call, const BoxCopy& box, std::size_t slot) {
    copy_box(call.stream, size_of(call.facts.output.dtype), box, call.inputs[slot], call.output);
}

void queue_reshape(const DeviceCall& call) {
    const Dims all{elements_of(call.facts.output)};
    queue_box(call, box_of(all, {1}, {1}), 0);
}

void queue_permute(const DeviceCall& call) {
    const Dims& dims = call.facts.output.dims;
    const std::vector<std::uint64_t> input = strides_of(call.facts.inputs[0].dims);
    std::vector<std::uint64_t> from(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) from[i] = input[call.facts.op.attributes[i]];
    queue_box(call, box_of(dims, from, strides_of(dims)), 0);
}

void queue_slice(const DeviceCall& call) {
    const Dims& dims = call.facts.output.dims;
    const std::vector<std::uint64_t> from = strides_of(call.facts.inputs[0].dims);
    BoxCopy box = box_of(dims, from, strides_of(dims));
    for (std::size_t i = 0; i < dims.size(); ++i) box.from += call.facts.op.attributes[i] * from[i];
    queue_box(call, box, 0);
}

void queue_concat(const DeviceCall& call) {
    const std::uint64_t axis = call.facts.op.attributes[0];
    const std::vector<std::uint64_t> to = strides_of(call.facts.output.dims);
    std::uint64_t at = 0;
    for (std::size_t slot = 0; slot < call.inputs.size(); ++slot) {
        const Dims& dims = call.facts.inputs[slot].dims;
        BoxCopy box = box_of(dims, strides_of(dims), to);
        box.to = at * to[axis];
        queue_box(call, box, slot);
        at += dims[axis];
    }
}

void queue_fill(const DeviceCall& call) {
    fill_bits(call.stream, size_of(call.facts.output.dtype), call.output, elements_of(call.facts.output),
              static_cast<std::uint32_t>(call.facts.op.attributes.back()));
}

void queue_pad(const DeviceCall& call) {
    queue_fill(call);
    const Dims& dims = call.facts.inputs[0].dims;
    const std::vector<std::uint64_t> to = strides_of(call.facts.output.dims);
    BoxCopy box = box_of(dims, strides_of(dims), to);
    for (std::size_t i = 0; i < dims.size(); ++i) box.to += call.facts.op.attributes[i] * to[i];
    queue_box(call, box, 0);
}

// ---- reductions, rows, windows, generators ----

void queue_reduction(const DeviceCall& call) {
    const OpCode code = call.facts.op.code;
    const Geometry shape = geometry(call.facts.inputs[0].dims);
    const Reduction kind = code == OpCode::row_sum || code == OpCode::col_sum ? Reduction::sum : Reduction::max;
    if (code == OpCode::row_sum || code == OpCode::row_max) {
        reduce_rows_on_device(call.stream, kind, in<float>(call, 0), out<float>(call), shape.rows, shape.cols);
    } else {
        reduce_columns_on_device(call.stream, kind, in<float>(call, 0), out<float>(call), shape.rows, shape.cols);
    }
}

void queue_argmax(const DeviceCall& call) {
    const Geometry shape = geometry(call.facts.inputs[0].dims);
    const bool pick = call.facts.op.code == OpCode::row_argmax_pick;
    argmax_rows_on_device(call.stream, in<float>(call, 0), pick ? in<std::int32_t>(call, 1) : nullptr,
                          out<std::int32_t>(call), shape.rows, shape.cols);
}

void queue_top(const DeviceCall& call) {
    const Geometry shape = geometry(call.facts.inputs[0].dims);
    top_of_rows_on_device(call.stream, in<std::uint32_t>(call, 0), out<std::int32_t>(call), shape.rows,
                          static_cast<std::uint32_t>(shape.cols),
                          static_cast<std::uint32_t>(call.facts.op.attributes[0]));
}

void queue_places(const DeviceCall& call) {
    const std::uint64_t elements = elements_of(call.facts.output);
    const std::uint64_t cols = call.facts.inputs[0].dims.back(), count = call.facts.inputs[1].dims.back();
    const std::int32_t* const places = in<std::int32_t>(call, 1);
    if (call.facts.op.code == OpCode::row_add_at) {
        return add_at_places_on_device(call.stream, in<std::uint32_t>(call, 0), places, in<float>(call, 2),
                                       out<std::uint32_t>(call), elements, cols, count);
    }
    pick_places_on_device(call.stream, size_of(call.facts.output.dtype), call.inputs[0], places, call.output, elements,
                          cols, count);
}

std::uint64_t width_of(const OpFacts::Operand& table) {
    return std::accumulate(table.dims.begin() + 1, table.dims.end(), std::uint64_t{1}, std::multiplies<>());
}

void queue_put(const DeviceCall& call) {
    const OpFacts::Operand& table = call.facts.inputs[0];
    put_rows_on_device(call.stream, size_of(table.dtype), call.inputs[0], call.inputs[1], in<std::int32_t>(call, 2),
                       call.output, table.dims[0], call.facts.inputs[2].dims[0], width_of(table));
}

void queue_gather(const DeviceCall& call) {
    const OpFacts::Operand& table = call.facts.inputs[0];
    gather_rows_on_device(call.stream, size_of(table.dtype), call.inputs[0], in<std::int32_t>(call, 1), call.output,
                          table.dims[0], call.facts.inputs[1].dims[0], width_of(table));
}

void queue_scatter(const DeviceCall& call) {
    const Dims& values = call.facts.inputs[0].dims;
    scatter_add_on_device(call.stream, in<float>(call, 0), in<std::int32_t>(call, 1), out<float>(call), values[0],
                          values[1], call.facts.output.dims[0], call.workspace);
}

Windows windows_of(const WindowShape& s) {
    return {s.n, s.c, s.h, s.w, s.kh, s.kw, s.sh, s.sw, s.ph, s.pw, s.oh, s.ow};
}

void queue_windows(const DeviceCall& call) {
    if (call.facts.op.code == OpCode::window_scatter) {
        return scatter_windows(call.stream, windows_of(scatter_shape(call.facts)), in<float>(call, 0),
                               out<float>(call));
    }
    gather_windows(call.stream, size_of(call.facts.output.dtype), windows_of(gather_shape(call.facts)), call.inputs[0],
                   call.output, static_cast<std::uint32_t>(call.facts.op.attributes[6]));
}

void queue_iota(const DeviceCall& call) {
    const Dims& dims = call.facts.output.dims;
    const std::uint64_t axis = call.facts.op.attributes[0];
    std::uint64_t inner = 1;
    for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
    make_iota(call.stream, out<std::int32_t>(call), elements_of(call.facts.output), inner, dims[axis]);
}

void queue_philox(const DeviceCall& call) {
    make_philox(call.stream, call.facts.op.code == OpCode::philox_normal, stream_key(call.seed, call.facts.op.stream),
                call.step, out<float>(call), elements_of(call.facts.output));
}

void queue_chacha(const DeviceCall& call) {
    make_chacha(call.stream, in<std::uint32_t>(call, 0), call.step,
                static_cast<std::uint32_t>(call.facts.op.attributes[0]), out<std::uint32_t>(call),
                elements_of(call.facts.output));
}

void queue_index(const DeviceCall& call) {
    const std::uint64_t batch = elements_of(call.facts.output);
    switch (call.facts.op.code) {
        case OpCode::step_number:
            return make_step_number(call.stream, call.step, call.facts.op.attributes[0], out<std::int32_t>(call));
        case OpCode::batch_index:
            return make_batch_index(call.stream, stream_key(call.seed, "order"), call.step, call.facts.op.attributes[0],
                                    out<std::int32_t>(call), batch);
        default: return make_sequential_index(call.stream, call.step, out<std::int32_t>(call), batch);
    }
}

using QueueOp = void (*)(const DeviceCall& call);

QueueOp queue_function(OpCode code) {
    switch (code) {
        case OpCode::matmul: return queue_matmul;
        case OpCode::row_sum:
        case OpCode::col_sum:
        case OpCode::row_max:
        case OpCode::col_max: return queue_reduction;
        case OpCode::row_argmax:
        case OpCode::row_argmax_pick: return queue_argmax;
        case OpCode::row_top: return queue_top;
        case OpCode::row_pick:
        case OpCode::row_add_at: return queue_places;
        case OpCode::gather_rows: return queue_gather;
        case OpCode::scatter_add_rows: return queue_scatter;
        case OpCode::put_rows: return queue_put;
        case OpCode::reshape: return queue_reshape;
        case OpCode::permute: return queue_permute;
        case OpCode::slice: return queue_slice;
        case OpCode::concat: return queue_concat;
        case OpCode::pad: return queue_pad;
        case OpCode::window_gather:
        case OpCode::window_scatter: return queue_windows;
        case OpCode::fill: return queue_fill;
        case OpCode::iota: return queue_iota;
        case OpCode::philox_uniform:
        case OpCode::philox_normal: return queue_philox;
        case OpCode::chacha_bits: return queue_chacha;
        case OpCode::step_number:
        case OpCode::batch_index:
        case OpCode::sequential_index: return queue_index;
        default: return nullptr;
    }
}

}  // namespace

std::uint64_t workspace_bytes(const OpFacts& facts) {
    if (facts.op.code == OpCode::scatter_add_rows && elements_of(facts.output) != 0)
        return scatter_bytes(facts.inputs[0].dims[0], facts.output.dims[0]);
    if (facts.op.code != OpCode::matmul) return 0;
    const MatmulShape s = matmul_shape(facts);
    return s.precision == Precision::f32 || s.k == 0 ? 0 : product_space(s).bytes;
}

void queue_op(const DeviceCall& call) {
    const QueueOp queue = queue_function(call.facts.op.code);
    ensure(queue != nullptr, "every op that is not elementwise has its kernels");
    if (elements_of(call.facts.output) != 0) queue(call);
}

ElementStep element_step(const OpFacts& facts) {
    ElementStep step;
    step.code = facts.op.code;
    step.in = facts.inputs[0].dtype;
    step.out = facts.output.dtype;
    step.inputs = static_cast<std::uint32_t>(facts.inputs.size());
    const Geometry shape = geometry(facts.output.dims);
    for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
        step.sides[i].size = static_cast<std::uint8_t>(size_of(facts.inputs[i].dtype));
        step.sides[i].spread = *spread_of(shape, geometry(facts.inputs[i].dims));
    }
    step.result.size = static_cast<std::uint8_t>(size_of(facts.output.dtype));
    return step;
}

}  // namespace retrace::kernels::cuda
