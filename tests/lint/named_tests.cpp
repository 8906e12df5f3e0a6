// SPDX-License-Identifier: MIT
// docs/threat-model.md answers each attack with a test. A test that was renamed or removed answers nothing. Names
// of tests have one style.
#include <optional>

#include "tests/lint/rules.hpp"

namespace retrace::lint {
namespace {

constexpr std::string_view kPage = "docs/threat-model.md";

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
    for (const std::string_view end : ends)
        if (text.ends_with(end)) return true;
    return false;
}

bool is_test_path(std::string_view token) {
    if (token.find(' ') != std::string_view::npos) return false;
    for (const std::string_view folder : {"unit/", "functional/", "simulation/", "model/", "fuzz/"})
        if (token.starts_with(folder)) return true;
    return ends_with_any(token, {"_test.cpp"});
}

bool is_name(std::string_view token) {
    for (const char c : token)
        if (!is_word_character(c)) return false;
    return !token.empty();
}

/// The file, or all files of the folder, that `path` under tests/ names; nothing when there is none.
std::optional<std::string> text_of(const Tree& tree, std::string_view path) {
    const std::string whole = "tests/" + std::string(path);
    if (const auto file = tree.find(whole); file != tree.end()) return file->second;
    std::optional<std::string> out;
    for (const auto& [name, text] : tree)
        if (name.starts_with(whole + "/")) out = out.value_or("") + text;
    return out;
}

}  // namespace

Findings check_named_tests(const Tree& tree) {
    Findings out;
    const auto page = tree.find(std::string(kPage));
    if (page == tree.end()) return out;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(page->second)) {
        ++number;
        std::optional<std::string> file;  // Of the names that follow it in this line.
        for (const std::string_view token : quoted(line)) {
            if (is_test_path(token)) {
                file = text_of(tree, token);
                if (!file)
                    out.push_back({page->first, number, "named_test", "there is no tests/" + std::string(token)});
            } else if (file && is_name(token) && !has_word(*file, token)) {
                out.push_back(
                    {page->first, number, "named_test", "the file before it has no test " + std::string(token)});
            }
        }
    }
    return out;
}

Findings check_test_names(const Tree& tree) {
    Findings out;
    for (const auto& [path, text] : tree) {
        if (!path.starts_with("tests/") || !is_cpp(path)) continue;
        std::size_t number = 0;
        for (const std::string_view line : lines_of(text)) {
            ++number;
            if (!line.starts_with("TEST(") && !line.starts_with("TEST_F(") && !line.starts_with("TEST_P(")) continue;
            const std::size_t comma = line.find(", ");
            const std::string_view name = comma == std::string_view::npos ? line : line.substr(comma + 2);
            if (name.substr(0, name.find(')')).find('_') != std::string_view::npos)
                out.push_back({path, number, "test_name", "names of tests are in CamelCase"});
        }
    }
    return out;
}

}  // namespace retrace::lint
