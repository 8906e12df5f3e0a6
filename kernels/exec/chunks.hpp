// SPDX-License-Identifier: MIT
// Attention a few heads at a time, for executors that compute op after op: scores of all heads at once are what takes
// a transformer's memory.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

struct ChunkLimits {
    std::uint64_t bytes = 32 << 20;  ///< Of the largest value of a chunk; one part may be more.
    std::uint32_t chunks = 64;       ///< Of one run, so many at most (as many inputs a concat takes).
    std::uint32_t more_ops = 100'000;  ///< A program that would grow by more stays as it is.
};

/// The same states and metrics, to the bit. Runs of ops that go by parts (exec/bands.hpp) and begin with products of
/// batches, where a value is larger than `limits.bytes`, are written once for each chunk of parts, chunk after chunk:
/// inputs are sliced, results that somebody else reads as a whole are joined again, what a later run cuts alike is not.
/// A part of an op is a smaller instance of it, so its bits are the same.
Program with_runs_in_chunks(const Program& program, const ChunkLimits& limits = {});

}  // namespace retrace::kernels
