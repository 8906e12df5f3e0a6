// SPDX-License-Identifier: MIT
#include "node/cmd/class_names.hpp"

#include "node/platform/printable.hpp"

namespace retrace::node::cli {

std::string class_lines(const DataSet& data) {
    constexpr std::size_t kShown = 20;
    std::string out;
    for (std::size_t i = 0; i < data.class_names.size() && i < kShown; ++i)
        out += "class     " + std::to_string(i) + " is " + printable(data.class_names[i].substr(0, 64)) + '\n';
    if (data.class_names.size() > kShown)
        out += "… and " + std::to_string(data.class_names.size() - kShown) + " more, in the order of their bytes\n";
    return out;
}

}  // namespace retrace::node::cli
