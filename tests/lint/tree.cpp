// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/lint/rules.hpp"
#include "tests/lint/tables.hpp"

namespace retrace::lint {
namespace {

namespace fs = std::filesystem;

bool skip_folder(const fs::path& path) {
    const std::string name = path.filename().string();
    const bool hidden = name.starts_with(".") && name != ".ci";
    return hidden || name == "build" || name == "node_modules" || name == "__pycache__";
}

std::string_view extension(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? std::string_view{} : name.substr(dot);
}

bool is_script(std::string_view path) { return path == "dev" || path.starts_with(".ci/"); }

}  // namespace

bool is_cpp(std::string_view path) { return contains_word(".cpp .hpp .cu .cuh .h .inc", extension(path)); }

bool is_code(std::string_view path) {
    return is_cpp(path) || is_script(path) || path.ends_with("CMakeLists.txt") ||
           contains_word(".cmake .py .sh .js .mjs .ts .proto .sol", extension(path));
}

Tree load_tree(const std::string& root) {
    Tree tree;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
        if (it->is_directory() && skip_folder(it->path())) {
            it.disable_recursion_pending();
            continue;
        }
        if (!it->is_regular_file()) continue;
        const std::string path = it->path().lexically_relative(root).generic_string();
        if (!is_code(path) && extension(path) != ".md") continue;
        std::ostringstream text;
        text << std::ifstream(it->path()).rdbuf();
        tree[path] = text.str();
    }
    return tree;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::size_t comment_start(std::string_view line) {
    bool literal = false;
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
        if (literal && line[i] == '\\') {
            ++i;
        } else if (line[i] == '"') {
            literal = !literal;
        } else if (!literal && line.substr(i, 2) == "//") {
            return i;
        }
    }
    return line.size();
}

std::vector<Include> includes_of(std::string_view text) {
    const auto skip_spaces = [](std::string_view& s) {
        s.remove_prefix(std::min(s.find_first_not_of(" \t"), s.size()));
    };
    std::vector<Include> out;
    const auto lines = lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string_view line = lines[i];
        skip_spaces(line);
        if (!line.starts_with('#')) continue;
        line.remove_prefix(1);
        skip_spaces(line);
        if (!line.starts_with("include")) continue;
        line.remove_prefix(7);
        skip_spaces(line);
        if (line.empty() || (line[0] != '<' && line[0] != '"')) continue;
        const bool angle = line[0] == '<';
        const std::size_t end = line.find(angle ? '>' : '"', 1);
        if (end == std::string_view::npos) continue;
        out.push_back({i + 1, std::string(line.substr(1, end - 1)), angle});
    }
    return out;
}

std::vector<std::string_view> quoted(std::string_view line) {
    std::vector<std::string_view> out;
    for (std::size_t open = line.find('`'); open != std::string_view::npos;) {
        const std::size_t close = line.find('`', open + 1);
        if (close == std::string_view::npos) break;
        out.push_back(line.substr(open + 1, close - open - 1));
        open = line.find('`', close + 1);
    }
    return out;
}

Findings check_all(const Tree& tree) {
    Findings all;
    for (const auto check : {check_arrows, check_cycles, check_third_party, check_determinism, check_text,
                             check_folders, check_named_tests, check_test_names, check_named_files, check_retired_names,
                             check_limits, check_rule_numbers}) {
        const Findings found = check(tree);
        all.insert(all.end(), found.begin(), found.end());
    }
    return all;
}

}  // namespace retrace::lint
