// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace retrace::node {

/// The words of a node, a peer or the chain as they may go to a terminal or a log: control characters, which
/// steer a terminal (those of two bytes in UTF-8 too), become question marks.
std::string printable(std::string text);

}  // namespace retrace::node
