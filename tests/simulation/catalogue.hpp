// SPDX-License-Identifier: MIT
// Real training programs so small that a step costs microseconds, with made-up data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::sim {

struct TaskKind {
    std::string name;
    Bytes program_bytes, init_bytes;
    std::unique_ptr<const kernels::CommittedProgram> program, init;
    std::vector<kernels::Tensor> data;
    std::vector<Hash32> data_roots;

    kernels::Inputs inputs(std::uint64_t seed) const;
};

/// Built once and read-only afterwards, also when several threads use it.
using Catalogue = std::vector<TaskKind>;
Catalogue make_catalogue();
/// The catalogue of this process, built at the first call.
const Catalogue& catalogue();

/// Made-up samples for the program; the second data set has labels of so many classes.
std::vector<kernels::Tensor> made_up_data(const kernels::Program& program, std::uint64_t classes);

/// State roots 0 … segments of an honest run: the ground truth for every party's claims.
std::vector<Hash32> true_roots(const TaskKind& kind, std::uint64_t steps, std::uint64_t interval, std::uint64_t seed,
                               kernels::ThreadPool& pool);

}  // namespace retrace::sim
