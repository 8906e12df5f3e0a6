// SPDX-License-Identifier: MIT
// Disputes about programs of any size without computing them. All elements of a tensor are equal, so a tile, its hash
// and a partial are computed once and served for every position; only the hash trees are real.
#pragma once

#include <string>

#include "kernels/commit/contract.hpp"
#include "kernels/program/codec.hpp"
#include "verifier/game/game.hpp"

namespace retrace::test {

/// A chain of `layers` products A·B = C of matrices [batch, m, k] and [batch, k, n]; A and B are frozen, C is written.
struct SyntheticShape {
    std::string name;
    std::uint32_t layers = 1;
    std::uint64_t batch = 1, m = 0, n = 0, k = 0;
    std::uint64_t steps = 1'000;  ///< Steps of the segment.
    bool transposed = false;      ///< Transposes A, so that a link's tiles lie in one column of each tree.
    std::uint64_t parameters() const { return layers * batch * (m * k + k * n + m * n); }
};

/// The measured sizes, 10^4 to 10^9 parameters.
std::vector<SyntheticShape> synthetic_shapes();

struct SyntheticResult {
    verifier::Game game;
    std::uint32_t moves = 0;
    double referee_ms = 0;  ///< Minimum of several measurements of the processor time for decoding and applying the
                            ///< last move.
    std::string refused;    ///< Slug of a refusal; empty if both sides could play to the end.
};
/// In the account of one side, one bit of one partial is wrong, and so is everything after it.
SyntheticResult synthetic_dispute(const SyntheticShape& shape, bool solver_lies);

/// Bytes that a signed transaction adds to a move: its fields, signature, selector and ABI words.
inline constexpr std::uint64_t kTxOverhead = 300;

}  // namespace retrace::test
