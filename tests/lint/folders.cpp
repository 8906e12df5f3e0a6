// SPDX-License-Identifier: MIT
// The nine folders: each explains itself, and there is no tenth.
#include <set>

#include "tests/lint/rules.hpp"
#include "tests/lint/tables.hpp"

namespace retrace::lint {

Findings check_folders(const Tree& tree) {
    Findings out;
    for (const FolderRule& rule : folder_rules()) {
        const std::string folder(rule.name);
        if (!tree.contains(folder + "/README.md")) {
            out.push_back({folder, 0, "readme_missing", "README.md says what lives here and where to start"});
        }
        if (rule.has_spec && !tree.contains(folder + "/SPEC.md")) {
            out.push_back({folder, 0, "spec_missing", "SPEC.md states the rules that hold, numbered"});
        }
    }
    std::set<std::string> strangers;
    for (const auto& [path, text] : tree) {
        const std::size_t slash = path.find('/');
        if (slash == std::string::npos || !is_cpp(path)) continue;
        const std::string folder = path.substr(0, slash);
        if (find_folder(folder) == nullptr) strangers.insert(folder);
    }
    for (const std::string& folder : strangers) {
        out.push_back({folder, 0, "folder_unknown", "C++ lives in the nine folders of the architecture"});
    }
    return out;
}

}  // namespace retrace::lint
