// SPDX-License-Identifier: MIT
#include "kernels/program/program.hpp"

namespace retrace::kernels {

std::uint32_t size_of(DType dtype) noexcept {
    switch (dtype) {
        case DType::f32:
        case DType::i32: return 4;
        case DType::i8:
        case DType::u8:
        case DType::boolean: return 1;
    }
    return 0;
}

Geometry geometry(const Dims& dims) noexcept {
    Geometry out;
    if (dims.empty()) return out;
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) out.rows *= dims[i];
    out.cols = dims.back();
    return out;
}

}  // namespace retrace::kernels
