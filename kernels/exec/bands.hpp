// SPDX-License-Identifier: MIT
// Runs of ops that can be computed part by part. Cut every tensor of the run into `granules` equal parts, in
// the order of memory: an op belongs to the run if the n-th part of its output follows from the n-th parts of
// what the run computes and from anything computed before. Elementwise ops do so by rows, reductions of rows
// by rows, products of batches by matrices. Parts are smaller instances of the same ops, so the bits are
// theirs by construction.
#pragma once

#include <optional>

#include "kernels/exec/plan.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/ops/matmul_shape.hpp"

namespace retrace::kernels {

struct BandRun {
    std::uint32_t count = 0;
    std::uint64_t granules = 0;
    std::vector<bool> whole;  ///< Band::whole.
};

/// What a run may be like. The defaults are for bands whose parts are one thread's work each.
struct BandLimits {
    bool rows = false;                           ///< Without products, and every part is one row.
    std::uint64_t granules = 4;                  ///< Fewer parts are not worth cutting.
    std::uint64_t granule_bytes = 4 << 20;       ///< Of one part of one tensor.
    std::uint64_t factor_max = kOwnFactorMax;    ///< Elements of a product's right factor, which each thread packs.
};

/// The longest run from op `first` on, if it is worth a band: a reduction or product of matrices is in it,
/// and an op that reads what the run computed. `places` says which outputs are aliases or gathered; `owner`
/// is the tensor whose memory a tensor shares.
std::optional<BandRun> find_band(const Program& program, const std::vector<BufferLocation>& places,
                                 const std::vector<std::uint32_t>& owner, std::uint32_t first,
                                 std::uint32_t ops_max, const BandLimits& limits = {});

/// The op's facts for `granules` of the `all` parts of its output.
OpFacts facts_of_part(const OpFacts& facts, std::uint64_t granules, std::uint64_t all);

/// The same states and metrics, to the bit: values that follow from constants alone (masks, positions), of at most
/// 64 MiB in all, are computed before everything else, where they interrupt no run, and once where several are made
/// alike.
Program with_constants_first(const Program& program);

}  // namespace retrace::kernels
