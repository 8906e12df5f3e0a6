// SPDX-License-Identifier: MIT
// The order of digits in a tile and the descriptor of a tile, compared with those of CuTe, which shares no code with
// ours: its layout for operands of wgmma along K with a swizzle of 64 bytes.
#include <cstdio>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
#include <cute/tensor.hpp>

#include "kernels/cuda/digits.hpp"

namespace retrace::kernels::cuda {
namespace {

/// Offset of the digit `k` of vector `v` by digits.hpp.
std::uint32_t offset_of(std::uint32_t v, std::uint32_t k) { return piece_offset(v, k / kPiece) + k % kPiece; }

/// Compares a tile of `vectors` vectors of one unit of K; returns the number of differences.
template <int vectors>
unsigned differences() {
    using cute::Int;
    using cute::SM90::GMMA::Major;
    const auto layout =
        cute::tile_to_shape(cute::GMMA::Layout_K_SW64_Atom<std::int8_t>{}, cute::Shape<Int<vectors>, Int<kUnitK>>{});
    unsigned found = 0;
    for (std::uint32_t v = 0; v < vectors; ++v) {
        for (std::uint32_t k = 0; k < kUnitK; ++k) {
            found += static_cast<std::uint32_t>(layout(static_cast<int>(v), static_cast<int>(k))) != offset_of(v, k);
        }
    }
    alignas(1024) static std::int8_t tile[vectors * kUnitK];
    // CuTe's start address is not known outside of a kernel, and it says so on standard output.
    const std::uint64_t theirs =
        cute::SM90::GMMA::make_gmma_desc<Major::K>(cute::make_tensor(cute::make_smem_ptr(tile), layout)).desc_;
    constexpr std::uint64_t kStart = 0x3fff;
    found += (theirs & ~kStart) != (descriptor_at(0) & ~kStart);
    std::printf("%d vectors: %u differences, descriptor %016llx\n", vectors, found,
                static_cast<unsigned long long>(descriptor_at(0)));
    return found;
}

}  // namespace
}  // namespace retrace::kernels::cuda

int main() {
    using retrace::kernels::cuda::differences;
    return differences<64>() + differences<96>() + differences<128>() == 0 ? 0 : 1;
}
