// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace retrace::node {

/// Makes text of a node, a peer or the chain safe for a terminal or a log: replaces control characters (also the
/// two-byte ones of UTF-8), which could control a terminal, by question marks.
std::string printable(std::string text);

}  // namespace retrace::node
