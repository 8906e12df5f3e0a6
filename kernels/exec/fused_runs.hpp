// SPDX-License-Identifier: MIT
// Finds runs of ops that can be computed part by part. Every tensor of the run is cut into `parts` equal parts in
// memory order; an op belongs to the run if the n-th part of its output depends only on the n-th parts of the run's
// results and on anything computed before the run. Elementwise ops and reductions of rows are cut by rows, products of
// batches by matrices. Parts are smaller instances of the same ops, so the bits are the same by construction.
#pragma once

#include <optional>

#include "kernels/exec/plan.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/ops/matmul_shape.hpp"

namespace retrace::kernels {

struct FusableRun {
    std::uint32_t count = 0;
    std::uint64_t parts = 0;
    std::vector<bool> whole;  ///< FusedRun::whole.
};

/// Limits of a run. The defaults are for fused runs whose parts are computed by one thread each.
struct FusionLimits {
    bool rows = false;                         ///< Excludes products and makes every part one row.
    std::uint64_t parts = 4;                   ///< Minimum number of parts; fewer are not worth cutting.
    std::uint64_t part_bytes = 4 << 20;        ///< Maximum bytes of one part of one tensor.
    std::uint64_t factor_max = kOwnFactorMax;  ///< Maximum elements of the right factor that each thread packs.
};

/// Returns the longest run from op `first` on if it is worth a fused run, that is, if it contains a reduction or a
/// product of matrices and an op that reads a result of the run. `places` says which outputs are aliases or gathered;
/// `owner` is the tensor whose memory a tensor shares.
std::optional<FusableRun> find_fusable_run(const Program& program, const std::vector<BufferLocation>& places,
                                           const std::vector<std::uint32_t>& owner, std::uint32_t first,
                                           std::uint32_t ops_max, const FusionLimits& limits = {});

/// Whether an elementwise op whose output has another number of rows than `parts` still computes the n-th of `parts`
/// equal parts of its output from the n-th parts of its operands, from single values, and from operands of which all
/// rows of the output read the same elements: those begin again every so many parts (a mask for each head).
bool goes_by_parts(const Program& program, std::uint32_t op, std::uint64_t parts);

/// Returns the op's facts for `parts` of the `all` parts of its output.
OpFacts facts_of_part(const OpFacts& facts, std::uint64_t parts, std::uint64_t all);

/// Returns a program with bit-identical states and metrics. Values that depend on constants alone (masks, positions),
/// up to 64 MiB in all, are computed before everything else, where they interrupt no run, and only once if several are
/// computed in the same way.
Program with_constants_first(const Program& program);

}  // namespace retrace::kernels
