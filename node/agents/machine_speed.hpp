// SPDX-License-Identifier: MIT
// What this machine's processors compute: a measurement of the benchmark that capability challenges run.
#pragma once

#include <chrono>

#include "kernels/runtime/thread_pool.hpp"

namespace retrace::node {

/// Multiply-adds a second over rounds of the benchmark (solver/capability/program.hpp), which end after `time`; at
/// least one round is run. `pool` must not be used by anything else meanwhile.
double multiply_adds_per_second(kernels::ThreadPool& pool, std::chrono::milliseconds time);

}  // namespace retrace::node
