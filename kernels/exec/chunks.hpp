// SPDX-License-Identifier: MIT
// Computes attention a few heads at a time, for executors that run one op after the other. The scores of all heads at
// once dominate a transformer's memory.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

struct ChunkLimits {
    std::uint64_t bytes = 32 << 20;    ///< Maximum bytes of the largest value of a chunk; a single part may exceed it.
    std::uint32_t chunks = 64;         ///< Maximum chunks of one run (as many inputs as a concat takes).
    std::uint32_t more_ops = 100'000;  ///< A program that would grow by more ops is left unchanged.
};

/// Returns a program with bit-identical states and metrics. Runs of ops that go by parts (exec/fused_runs.hpp), begin
/// with products of batches and contain a value larger than `limits.bytes` are written once for each chunk of parts,
/// chunk after chunk. Inputs are sliced; results that an op outside the run reads as a whole are joined again,
/// unless a later run cuts them in the same way. A part of an op is a smaller instance of it, so its bits are the
/// same.
Program with_runs_in_chunks(const Program& program, const ChunkLimits& limits = {});

}  // namespace retrace::kernels
