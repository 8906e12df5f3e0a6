// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "kernels/exec/executor.hpp"

namespace retrace::node {

struct Evaluation {
    std::uint64_t samples = 0;
    std::uint64_t labels = 0, correct = 0;  ///< A label for each sample, or for each token.
    bool counts_correct = false;            ///< Set for classifiers.
    double loss = 0;                        ///< Mean over the samples; informative only.
    double accuracy() const noexcept {
        return labels == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(labels);
    }
};

/// Of a program's or plan's file that is read from disk: as much as the store takes (artifacts/store.hpp).
inline constexpr std::uint64_t kProgramBytesMax = std::uint64_t{80} << 20;

/// Reads, decodes and checks a program file.
Result<kernels::Program> read_program(const std::filesystem::path& path);

/// Runs an evaluation program (kernels/builder: metrics "loss", the mean over a batch, and "correct") over
/// all of its data. `state` holds the trained tensors. Fails when the program, state and data do not fit each
/// other.
Result<Evaluation> evaluate(const kernels::Program& program, const kernels::State& state,
                            const std::vector<kernels::Tensor>& data, kernels::ThreadPool& pool);

}  // namespace retrace::node
