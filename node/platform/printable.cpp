// SPDX-License-Identifier: MIT
#include "node/platform/printable.hpp"

namespace retrace::node {

namespace {

/// Bytes of the character at `text[i]` that must not reach a terminal; 0: it may.
std::size_t hidden_at(const std::string& text, std::size_t i) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(k < text.size() ? text[k] : 0); };
    if (byte(i) < 0x20 || byte(i) == 0x7f) return 1;
    if (byte(i) == 0xc2 && byte(i + 1) >= 0x80 && byte(i + 1) < 0xa0) return 2;
    if (byte(i) != 0xe2) return 0;
    const bool embeds = byte(i + 1) == 0x80 && byte(i + 2) >= 0xaa && byte(i + 2) <= 0xae;
    const bool isolates = byte(i + 1) == 0x81 && byte(i + 2) >= 0xa6 && byte(i + 2) <= 0xa9;
    return embeds || isolates ? 3 : 0;
}

std::string without_hidden(std::string text, bool keep_lines) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (keep_lines && text[i] == '\n') continue;
        if (const std::size_t size = hidden_at(text, i); size != 0) {
            text.replace(i, size, size, '?');
            i += size - 1;
        }
    }
    return text;
}

}  // namespace

std::string printable(std::string text) { return without_hidden(std::move(text), false); }
std::string printable_lines(std::string text) { return without_hidden(std::move(text), true); }

}  // namespace retrace::node
