// SPDX-License-Identifier: MIT
// The file of a training on this machine that was interrupted, from which the next run goes on.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/runtime/tensor.hpp"
#include "merkle/base/result.hpp"
#include "node/tasks/data/dataset.hpp"

namespace retrace::node {

struct RunProgress {
    kernels::State state;
    std::vector<std::pair<std::uint64_t, float>> losses;  ///< That the program has reported so far, with their steps.
};

/// SHA-256 of everything that decides the bits of each step of a training: its first state with the program's root
/// (`first_root`), data and seed. The number of steps is not in it: a task that was lengthened goes on.
Hash32 training_identity(const Hash32& first_root, const DataSet& data, std::uint64_t seed);

/// How far a training is, without its state.
struct RunHead {
    std::uint64_t step = 0;
    std::vector<std::pair<std::uint64_t, float>> losses;  ///< RunProgress::losses.
};

/// Writes the file durably, in the place of an older one.
Status<> save_progress(const std::filesystem::path& path, const Hash32& identity, const RunProgress& progress);
/// The same without memory for the state: `tensor` returns the bytes of each of its `tensors` tensors, valid until its next
/// call.
Status<> save_progress(const std::filesystem::path& path, const Hash32& identity, const RunHead& head,
                       std::uint32_t tensors, const std::function<View(std::uint32_t state)>& tensor);
/// Returns nullopt if there is no file. Errors: a damaged file, one of another training, which the first save would
/// replace, and one that is beyond `steps`, the training's number of steps: its state is not the result. `first`: the
/// training's first state, of which the file has the shapes. Removes what processes that were killed left of saves.
Result<std::optional<RunProgress>> load_progress(const std::filesystem::path& path, const Hash32& identity,
                                                 const kernels::State& first, std::uint64_t steps);

/// The same without memory for the state: `bytes` has the size of each tensor, and `take` is given them one by one, once
/// the whole file has been checked. After an error what it was given is of no use: a disk may read otherwise twice.
Result<std::optional<RunHead>> load_progress(const std::filesystem::path& path, const Hash32& identity,
                                             const std::vector<std::uint64_t>& bytes, std::uint64_t steps,
                                             const std::function<void(std::uint32_t state, Bytes data)>& take);

}  // namespace retrace::node
