// SPDX-License-Identifier: MIT
// Which versions of CometBFT a node works with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/result.hpp"

namespace retrace::node::engine {

/// The lines compute the time of a block differently, so all nodes of a chain have one of them. CometBFT's name of the
/// chain differs by line, so that nodes of two lines do not connect.
enum class CometLine : std::uint8_t { v0_38 = 38, v0_40 = 40 };

/// 0.38 from 0.38.21 on, since earlier ones have known holes; 0.40, whose 0.40.0 says that it is 0.39.0. nullopt: no
/// version that a node works with.
std::optional<CometLine> line_of(std::string_view version);
/// The sentence that refuses a version and names the remedy.
std::string wrong_version(std::string_view version);

/// Asks the executable with `cometbft version`, for at most ten seconds; `output` is a file that is made for its answer
/// and removed. An Error if the version is not known.
Result<CometLine> program_line(const std::filesystem::path& program, const std::filesystem::path& output);

}  // namespace retrace::node::engine
