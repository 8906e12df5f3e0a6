// SPDX-License-Identifier: MIT
// Names that were replaced by standard terms stay away: one term for one thing.
#include "tests/lint/rules.hpp"
#include "tests/lint/tables.hpp"

namespace retrace::lint {

Findings check_retired_names(const Tree& tree) {
    Findings out;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path) || path.starts_with("tests/lint/")) continue;
        const std::string code = without_comments(text);
        std::size_t number = 0;
        for (const std::string_view line : lines_of(code)) {
            ++number;
            for (const RetiredName& name : retired_names()) {
                if (!has_word(line, name.old)) continue;
                out.push_back(
                    {path, number, "retired_name", std::string(name.old) + " is now " + std::string(name.now)});
            }
        }
    }
    return out;
}

}  // namespace retrace::lint
