// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace retrace::node {

/// Makes text of a node, a peer, the chain or a data file safe for a terminal or a log: replaces each byte of the
/// control characters (also the two-byte ones of UTF-8), which could control a terminal, and of the characters that
/// change the direction of text (U+202A to U+202E, U+2066 to U+2069), which could show it in another order, by a
/// question mark.
std::string printable(std::string text);
/// The same for a text of several lines: keeps the line feeds.
std::string printable_lines(std::string text);

}  // namespace retrace::node
