// SPDX-License-Identifier: MIT
// Simulates the state of a party's files after a power cut.
#pragma once

#include <filesystem>
#include <map>

#include "merkle/base/bytes.hpp"
#include "tests/simulation/random.hpp"

namespace retrace::sim {

/// Every file below a folder, by path.
using DiskImage = std::map<std::filesystem::path, Bytes>;
DiskImage image_of(const std::filesystem::path& folder);

/// Takes a folder back to a moment between `before` and now. Changes are ordered as a checkpoint store writes them
/// (tensors, manifests, removals): a prefix of them is kept, the next write is left half done in its unfinished file,
/// and the rest is undone.
void tear(const std::filesystem::path& folder, const DiskImage& before, Random& random);

}  // namespace retrace::sim
