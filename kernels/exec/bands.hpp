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

namespace retrace::kernels {

struct BandRun {
    std::uint32_t count = 0;
    std::uint64_t granules = 0;
    std::vector<bool> whole;  ///< Band::whole.
};

/// The longest run from op `first` on, if it is worth a band: a reduction or product of matrices is in it,
/// and an op that reads what the run computed. `places` says which outputs are aliases or gathered; `owner`
/// is the tensor whose memory a tensor shares. `rows`: without products, and every part is one row.
std::optional<BandRun> find_band(const Program& program, const std::vector<Place>& places,
                                 const std::vector<std::uint32_t>& owner, std::uint32_t first,
                                 std::uint32_t ops_max, bool rows = false);

/// The op's facts for `granules` of the `all` parts of its output.
OpFacts facts_of_part(const OpFacts& facts, std::uint64_t granules, std::uint64_t all);

/// The same states and metrics, to the bit: small values that follow from constants alone (masks, positions)
/// are computed before everything else, where they interrupt no run.
Program with_constants_first(const Program& program);

}  // namespace retrace::kernels
