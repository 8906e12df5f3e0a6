// SPDX-License-Identifier: MIT
// Which versions of CometBFT a node works with.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "merkle/base/result.hpp"

namespace retrace::node::engine {

/// 0.38.21 or a newer 0.38. Others compute the time of a block differently, so nodes of one chain must not have them
/// (0.40), or have known holes (before 0.38.21).
bool is_known_version(std::string_view version);
/// The sentence that refuses a version and names the remedy.
std::string wrong_version(std::string_view version);

/// Asks the executable with `cometbft version`, for at most ten seconds; `output` is a file that is made for its answer
/// and removed. An Error if the version is not known.
Status<> check_version(const std::filesystem::path& program, const std::filesystem::path& output);

}  // namespace retrace::node::engine
