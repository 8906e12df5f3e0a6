// SPDX-License-Identifier: MIT
// What a power cut leaves of a party's files.
#pragma once

#include <filesystem>
#include <map>

#include "merkle/base/bytes.hpp"
#include "tests/simulation/random.hpp"

namespace retrace::sim {

/// Every file below a folder, by path.
using DiskImage = std::map<std::filesystem::path, Bytes>;
DiskImage image_of(const std::filesystem::path& folder);

/// Takes a folder back to a moment between `before` and now: of what changed since, in the order in which a
/// checkpoint store writes (tensors, manifests, removals), some is there, one write is half done in its
/// unfinished file, and the rest did not happen.
void tear(const std::filesystem::path& folder, const DiskImage& before, Random& random);

}  // namespace retrace::sim
