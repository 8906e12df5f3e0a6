// SPDX-License-Identifier: MIT
// What this machine computes between two blocks of a chain, as far as it can be measured.
#pragma once

#include <chrono>
#include <optional>

#include "kernels/runtime/thread_pool.hpp"
#include "node/agents/work_choice.hpp"
#include "node/rpc_client/rpc_client.hpp"
#include "solver/run/device.hpp"

namespace retrace::node {

inline constexpr std::chrono::milliseconds kMeasureSpeed{300};

/// Multiply-adds a second over rounds of the benchmark that capability challenges run (solver/capability/program.hpp),
/// which end after `time`; at least one round is run. `pool` must not be used by anything else meanwhile.
double multiply_adds_per_second(kernels::ThreadPool& pool, std::chrono::milliseconds time);

/// Seconds between two blocks, over the last hundred; nullopt: the node does not say, or there are too few.
std::optional<double> block_time(RpcClient& client, std::uint64_t height);

/// Whether a device computes the steps of tasks here.
bool computes_on_device(solver::DeviceChoice choice);

}  // namespace retrace::node
