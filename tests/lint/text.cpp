// SPDX-License-Identifier: MIT
// What a file may look like, whatever it says.
#include <cctype>

#include "tests/lint/rules.hpp"

namespace retrace::lint {
namespace {

constexpr std::size_t kLinesMax = 400;

// Written in halves, so that this file does not break its own rules.
// clang-format off
constexpr std::string_view kUnfinished[] = {"TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"};
constexpr std::string_view kMachinePaths[] = {"/wo" "rk/main", "/wo" "rk/shared", "/wo" "rk/.library", "/tm" "p/plan"};
// clang-format on

bool has_license(const std::vector<std::string_view>& lines) {
    const std::size_t at = !lines.empty() && lines[0].starts_with("#!") ? 1 : 0;
    return lines.size() > at &&
           (lines[at] == "// SPDX-License-Identifier: MIT" || lines[at] == "# SPDX-License-Identifier: MIT");
}

void check_line(const std::string& path, std::size_t number, std::string_view line, Findings& out) {
    const auto find = [&](const char* rule, std::string message) { out.push_back({path, number, rule, message}); };
    if (line.find('\t') != std::string_view::npos) find("tab", "spaces indent");
    if (line.ends_with(' ') || line.ends_with('\r')) find("trailing_space", "space at the end of the line");
    for (const std::string_view word : kUnfinished) {
        if (has_word(line, word)) find("unfinished", "finish it, or open an issue: " + std::string(word));
    }
    for (const std::string_view place : kMachinePaths) {
        if (line.find(place) != std::string_view::npos) find("machine_path", "a path of one machine");
    }
}

}  // namespace

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has_word(std::string_view line, std::string_view word) {
    for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        const bool left = at == 0 || !is_word_character(line[at - 1]);
        const bool right = end == line.size() || !is_word_character(line[end]);
        if (left && right) return true;
    }
    return false;
}

Findings check_text(const Tree& tree) {
    Findings out;
    for (const auto& [path, text] : tree) {
        const auto lines = lines_of(text);
        if (is_code(path)) {
            if (!has_license(lines)) out.push_back({path, 1, "spdx", "the first line names the license: SPDX-..."});
            if (path.ends_with(".hpp") && text.find("\n#pragma once\n") == std::string::npos) {
                out.push_back({path, 0, "pragma_once", "a header says #pragma once"});
            }
            if (lines.size() > kLinesMax) {
                out.push_back(
                    {path, 0, "long_file", std::to_string(lines.size()) + " lines: has it more than one purpose?"});
            }
        }
        for (std::size_t i = 0; i < lines.size(); ++i) check_line(path, i + 1, lines[i], out);
    }
    return out;
}

}  // namespace retrace::lint
