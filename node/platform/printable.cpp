// SPDX-License-Identifier: MIT
#include "node/platform/printable.hpp"

namespace retrace::node {

std::string printable(std::string text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool c1 = i > 0 && static_cast<unsigned char>(text[i - 1]) == 0xc2 && byte >= 0x80 && byte < 0xa0;
        if (c1) text[i - 1] = '?';
        if (c1 || byte < 0x20 || byte == 0x7f) text[i] = '?';
    }
    return text;
}

}  // namespace retrace::node
