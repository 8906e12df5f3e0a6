// SPDX-License-Identifier: MIT
// Parts of `cuda_parity`, which compares a device with the back ends of the CPU.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/runtime/thread_pool.hpp"
#include "merkle/base/result.hpp"

namespace retrace::kernels::parity {

/// Counts passed checks and prints failed ones.
struct Tally {
    std::uint64_t passed = 0, failed = 0;
    void count(const std::string& what, bool ok);
    void count(const std::string& what, const Status<>& status);
};

/// Random cases of every op of the table, from `seed`.
void check_ops(std::uint64_t seed, int rounds, ThreadPool& pool, Tally& tally);
/// The first `most` products with several tiles and blocks, of every shape, precision and storage.
void check_products(int most, ThreadPool& pool, Tally& tally);
/// Norms, losses, attention and optimisers, each as a separate program.
void check_layers(ThreadPool& pool, Tally& tally);
/// Every recipe beside the interpreter of its steps; unless `all`, on short rows only.
void check_recipes(bool all, Tally& tally);
/// Functions of one argument on all 2^32 inputs, or on every `stride`-th.
void check_functions(std::uint64_t stride, ThreadPool& pool, Tally& tally);
/// `steps` steps of every published training: state, loss and root; with 200 steps the published root.
void check_trainings(int steps, const std::string& golden_file, ThreadPool& pool, Tally& tally);

}  // namespace retrace::kernels::parity
