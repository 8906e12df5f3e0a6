// SPDX-License-Identifier: MIT
// Consensus code gives one answer on every machine: no floating point outside the kernels, no order that a hash
// function chose, no clock, no chance, no environment.
#include <algorithm>

#include "tests/lint/rules.hpp"
#include "tests/lint/tables.hpp"

namespace retrace::lint {
namespace {

void blank(std::string& text, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, text.size()); ++i) {
        if (text[i] != '\n') text[i] = ' ';
    }
}

// Where a literal in quotes that opens at `at` ends. An apostrophe may also separate digits; such a one ends at once.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
    const char quote = text[at];
    const bool separator = quote == '\'' && at > 0 && is_word_character(text[at - 1]);
    if (separator) return at + 1;
    if (quote == '"' && at > 0 && text[at - 1] == 'R') {
        const std::size_t open = text.find('(', at);
        if (open == std::string_view::npos) return text.size();
        const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
        const std::size_t end = text.find(close, open);
        return end == std::string_view::npos ? text.size() : end + close.size();
    }
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != quote && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
}

}  // namespace

std::string without_comments(std::string_view text) {
    std::string out(text);
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        std::size_t end = at + 1;
        if (rest.starts_with("//")) {
            end = text.find('\n', at);
        } else if (rest.starts_with("/*")) {
            end = text.find("*/", at + 2);
            if (end != std::string_view::npos) end += 2;
        } else if (rest[0] == '"' || rest[0] == '\'') {
            end = end_of_literal(text, at);
        } else {
            ++at;
            continue;
        }
        end = std::min(end, text.size());
        blank(out, at, end);
        at = end;
    }
    return out;
}

Findings check_determinism(const Tree& tree) {
    Findings out;
    for (const auto& file : tree) {
        const std::string &path = file.first, &text = file.second;  // clang 14 captures no binding
        if (!is_cpp(path)) continue;
        const std::string folder = path.substr(0, std::min(path.find('/'), path.size()));
        for (const BannedWords& banned : banned_words()) {
            if (!contains_word(banned.folders, folder)) continue;
            const std::string code = without_comments(text);
            const auto lines = lines_of(code);
            for (std::size_t i = 0; i < lines.size(); ++i) {
                for_each_word(banned.words, [&](std::string_view word) {
                    if (!has_word(lines[i], word)) return;
                    out.push_back({path, i + 1, "determinism", std::string(word) + ": " + std::string(banned.reason)});
                });
            }
        }
    }
    return out;
}

}  // namespace retrace::lint
