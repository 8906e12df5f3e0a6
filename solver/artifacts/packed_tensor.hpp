// SPDX-License-Identifier: MIT
// The transport form of int32 and bool tensors: words of the least width that holds their largest value, so that places
// in rows of 512 elements take 9 bits and signs 1. Roots are over unpacked tensors.
#pragma once

#include "kernels/runtime/tensor.hpp"

namespace retrace::solver {

/// Returns the width w in bits as one byte, then each element's low w bits, the least significant first, in order, and
/// zero bits up to a whole byte. w is the least that holds every element as an unsigned integer: 0 if all are 0, 32 if
/// one is negative, at most 1 for bool. `tensor` is int32 or bool.
Bytes pack(const kernels::Tensor& tensor);

/// Returns the bytes of a packed tensor of this width and number of elements (at most 2^36).
std::uint64_t packed_bytes(std::uint32_t width, std::uint64_t elements) noexcept;

/// The inverse: every tensor has one packed form, and other bytes are refused by name. `dtype` (int32 or bool) and
/// `dims` come from the receiver's own plan, because bytes of width 0 say nothing of the memory that they unpack to.
Result<kernels::Tensor> unpack(View bytes, kernels::DType dtype, kernels::Dims dims);

/// The transport form of any tensor: packed where it can be packed, else its elements, little-endian.
Bytes transport_form(const kernels::Tensor& tensor);
/// Returns the bytes of the longest transport form of a tensor of this dtype and these extents.
std::uint64_t transport_bytes_max(const kernels::TensorRecord& record);
/// Returns how many of these bytes are the transport form of a tensor of `record` that begins them; an error if it is longer.
Result<std::uint64_t> transport_bytes(View bytes, const kernels::TensorRecord& record);
/// The inverse of transport_form for a tensor of `record`; a tensor has one transport form, and other bytes are refused.
Result<kernels::Tensor> from_transport_form(View bytes, const kernels::TensorRecord& record);

}  // namespace retrace::solver
