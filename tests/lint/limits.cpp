// SPDX-License-Identifier: MIT
// docs/limits.md gives each limit with the code that sets it in the last two cells of a row: … | `code`, `code` | `file` |.
// The page is true as long as the file holds that code.
#include "tests/lint/rules.hpp"

namespace retrace::lint {
namespace {

constexpr std::string_view kLimitsPage = "docs/limits.md";

/// Without line breaks, and with one space for each run of blanks.
std::string in_one_line(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\n' || c == '\t';
        if (!blank)
            out += c;
        else if (!out.empty() && out.back() != ' ')
            out += ' ';
    }
    return out;
}

std::vector<std::string_view> cells_of(std::string_view row) {
    std::vector<std::string_view> out;
    for (std::size_t at = row.find('|'); at != std::string_view::npos;) {
        const std::size_t next = row.find('|', at + 1);
        if (next == std::string_view::npos) break;
        out.push_back(row.substr(at + 1, next - at - 1));
        at = next;
    }
    return out;
}

}  // namespace

Findings check_limits(const Tree& tree) {
    Findings out;
    const auto page = tree.find(std::string(kLimitsPage));
    if (page == tree.end()) return out;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(page->second)) {
        ++number;
        const auto cells = line.starts_with("| ") ? cells_of(line) : std::vector<std::string_view>{};
        if (cells.size() < 4 || cells[0].find("---") != std::string_view::npos || cells.back() == " in ") continue;
        const auto files = quoted(cells.back()), codes = quoted(cells[cells.size() - 2]);
        if (files.size() != 1 || codes.empty()) {
            out.push_back({std::string(kLimitsPage), number, "limit", "a row names code and one file, in backquotes"});
            continue;
        }
        const auto file = tree.find(std::string(files[0]));
        const std::string text = file == tree.end() ? std::string() : in_one_line(file->second);
        for (const std::string_view code : codes)
            if (text.find(in_one_line(code)) == std::string::npos)
                out.push_back({std::string(kLimitsPage), number, "limit",
                               std::string(files[0]) + " does not hold `" + std::string(code) + "`"});
    }
    return out;
}

}  // namespace retrace::lint
