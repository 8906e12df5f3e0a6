// SPDX-License-Identifier: MIT
// Pages and comments send their reader to files. A file that was renamed or removed sends nobody anywhere.
#include <filesystem>
#include <set>

#include "tests/lint/rules.hpp"
#include "tests/lint/tables.hpp"

namespace retrace::lint {
namespace {

constexpr std::string_view kEndings[] = {".cpp", ".hpp", ".cu", ".cuh", ".md"};

bool is_path_character(char c) { return is_word_character(c) || c == '/' || c == '-' || c == '.'; }

bool names_source(std::string_view token) {
    if (token.empty() || !(is_word_character(token[0]) || token[0] == '.') || token[0] == '_') return false;
    for (const char c : token)
        if (!is_path_character(c)) return false;
    for (const std::string_view ending : kEndings)
        if (token.size() > ending.size() && token.ends_with(ending)) return true;
    return false;
}

/// Whether the token is the path of a folder or module of the tree, as `node/net` or `node/net/url`: a path below one of
/// the nine folders without an ending.
bool names_folder(std::string_view token) {
    const std::size_t slash = token.find('/');
    if (slash == std::string_view::npos || find_folder(token.substr(0, slash)) == nullptr) return false;
    for (const char c : token.substr(slash))
        if (!is_word_character(c) && c != '/' && c != '-') return false;
    return true;
}

/// Every folder, and every file without its ending; of a decision record also the number alone.
std::set<std::string, std::less<>> folders_and_modules(const Tree& tree) {
    std::set<std::string, std::less<>> out;
    for (const auto& [path, text] : tree) {
        for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1))
            out.insert(path.substr(0, at));
        const std::size_t name = path.rfind('/') + 1;
        out.insert(path.substr(0, std::min(path.find('.', name), path.size())));
        if (path.find("/decisions/") != std::string::npos) out.insert(path.substr(0, path.find('-', name)));
    }
    return out;
}

/// Every way to name a file of the tree: its path, and that path without its first folders.
std::set<std::string, std::less<>> names_of(const Tree& tree) {
    std::set<std::string, std::less<>> out;
    for (const auto& [path, text] : tree) {
        out.insert(path);
        for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1))
            out.insert(path.substr(at + 1));
    }
    return out;
}

/// What a page links to in this tree, without the place in the page.
std::vector<std::string_view> linked(std::string_view line) {
    std::vector<std::string_view> out;
    for (std::size_t at = line.find("]("); at != std::string_view::npos; at = line.find("](", at + 2)) {
        const std::string_view target = line.substr(at + 2, line.find(')', at) - at - 2);
        if (!target.starts_with('#') && target.find("://") == std::string_view::npos)
            out.push_back(target.substr(0, target.find('#')));
    }
    return out;
}

/// The words of a line's comment that could be paths.
std::vector<std::string_view> commented(std::string_view line) {
    std::vector<std::string_view> out;
    std::size_t at = comment_start(line);
    while (at < line.size()) {
        while (at < line.size() && !is_path_character(line[at])) ++at;
        const std::size_t start = at;
        while (at < line.size() && is_path_character(line[at])) ++at;
        std::string_view word = line.substr(start, at - start);
        if (word.ends_with('.')) word.remove_suffix(1);
        if (start == 0 || line[start - 1] != '*') out.push_back(word);
    }
    return out;
}

/// Pages that the project was designed from. They are not in the tree, so a reader cannot look a section of theirs up.
constexpr std::string_view kDesignPages[] = {"NUMERICS", "PROTOCOL", "STYLE", "ARCHITECTURE", "DISTRIBUTED"};

/// The design page of which the line cites a section; empty: none.
std::string_view design_page_in(std::string_view line) {
    for (const std::string_view page : kDesignPages) {
        const std::size_t at = line.find(page);
        if (at == std::string_view::npos || !has_word(line, page)) continue;
        const std::string_view rest = line.substr(at + page.size());
        if (rest.size() > 1 && rest[0] == ' ' && rest[1] >= '0' && rest[1] <= '9') return page;
    }
    return {};
}

}  // namespace

Findings check_named_files(const Tree& tree) {
    Findings out;
    const auto names = names_of(tree), folders = folders_and_modules(tree);
    for (const auto& [path, text] : tree) {
        const bool page = path.ends_with(".md");
        if (!page && !is_cpp(path)) continue;
        const std::filesystem::path folder = std::filesystem::path(path).parent_path();
        const auto from_here = [&](std::string_view target) {
            return (folder / target).lexically_normal().generic_string();
        };
        std::size_t number = 0;
        for (const std::string_view line : lines_of(text)) {
            ++number;
            if (const std::string_view cited = design_page_in(line); !cited.empty()) {
                out.push_back({path, number, "unknown_document",
                               std::string(cited) + " is not in the tree; cite a section of a SPEC.md"});
            }
            for (const std::string_view token : page ? quoted(line) : commented(line)) {
                if (names_source(token) && !names.contains(token) && !names.contains(from_here(token)))
                    out.push_back({path, number, "named_file", "there is no " + std::string(token)});
                const std::string_view folder = token.ends_with('/') ? token.substr(0, token.size() - 1) : token;
                if (names_folder(folder) && !folders.contains(folder))
                    out.push_back({path, number, "named_file", "there is no folder or module " + std::string(folder)});
            }
            if (!page) continue;
            for (const std::string_view target : linked(line)) {
                if (names_source(target) && !tree.contains(from_here(target)))
                    out.push_back({path, number, "named_file", "links to nothing: " + std::string(target)});
            }
        }
    }
    return out;
}

}  // namespace retrace::lint
