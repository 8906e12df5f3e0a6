// SPDX-License-Identifier: MIT
// The house rules that a machine can decide. Each rule reads the whole tree, held in memory, and returns what it
// finds; so a rule is tested by feeding it a small bad tree.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retrace::lint {

/// Path from the root of the tree, with slashes → contents.
using Tree = std::map<std::string, std::string>;

struct Finding {
    std::string path;
    std::size_t line = 0;  ///< 1 is the first; 0: the file or folder as a whole.
    std::string rule;      ///< A stable name, as "include_arrow".
    std::string message;
    bool operator==(const Finding&) const = default;
};
/// Advice is printed and fails nothing.
inline bool is_advice(const Finding& finding) { return finding.rule == "long_file"; }
using Findings = std::vector<Finding>;

/// Every text file under `root` that people write, without build folders and what tools download.
Tree load_tree(const std::string& root);

/// Whether the file is C++ or CUDA.
bool is_cpp(std::string_view path);
/// Whether the file is code of any language, scripts and build files included.
bool is_code(std::string_view path);
std::vector<std::string_view> lines_of(std::string_view text);
/// Where the line's `//` is, or its length.
std::size_t comment_start(std::string_view line);

/// What a page puts between backquotes.
std::vector<std::string_view> quoted(std::string_view line);

bool is_word_character(char c);
/// Whether `word` stands in `line` with no letter, digit or underscore beside it.
bool has_word(std::string_view line, std::string_view word);
/// C++ with its comments and literals replaced by spaces, line by line in place.
std::string without_comments(std::string_view text);

struct Include {
    std::size_t line = 0;
    std::string target;
    bool angle = false;
};
std::vector<Include> includes_of(std::string_view text);

Findings check_arrows(const Tree& tree);       ///< include_arrow, include_missing, include_quotes
Findings check_cycles(const Tree& tree);       ///< include_cycle, subfolder_cycle
Findings check_third_party(const Tree& tree);  ///< third_party_home, third_party_unknown
Findings check_determinism(const Tree& tree);  ///< determinism
/// spdx, pragma_once, tab, trailing_space, long_file, unfinished, machine_path
Findings check_text(const Tree& tree);
Findings check_folders(const Tree& tree);        ///< readme_missing, spec_missing, folder_unknown
Findings check_named_tests(const Tree& tree);    ///< named_test: of the threat model
Findings check_test_names(const Tree& tree);     ///< test_name
Findings check_named_files(const Tree& tree);    ///< named_file, unknown_document: in pages and in comments
Findings check_retired_names(const Tree& tree);  ///< retired_name: in code, comments and literals apart
Findings check_limits(const Tree& tree);         ///< limit: docs/limits.md against the code
Findings check_rule_numbers(const Tree& tree);   ///< rule_number: cited, and in no SPEC.md

/// All of them, in the order above.
Findings check_all(const Tree& tree);

}  // namespace retrace::lint
