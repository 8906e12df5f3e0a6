// SPDX-License-Identifier: MIT
// The tables of the architecture, as data. They have no exceptions: a file that breaks one is in the wrong folder.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace retrace::lint {

struct FolderRule {
    std::string_view name;
    std::string_view may_include;  ///< Folder names between spaces, its own not among them.
    bool has_spec = false;
};
/// The nine folders and the arrows between them.
std::span<const FolderRule> folder_rules();
const FolderRule* find_folder(std::string_view name);

/// A folder inside one of the nine, or inside such a folder.
struct SubfolderRule {
    std::string_view path;
    std::string_view may_include;  ///< Paths of subfolders beside it, between spaces, its own not among them.
};
/// When one subfolder of a folder is in this table, all are, and none of them includes files that lie beside them.
std::span<const SubfolderRule> subfolder_rules();

/// An identifier of ours that a standard term replaced.
struct RetiredName {
    std::string_view old, now;
};
std::span<const RetiredName> retired_names();

struct Library {
    std::string_view name;
    std::string_view headers;  ///< Prefixes of include names, between spaces.
    std::string_view homes;    ///< Path prefixes, between spaces: the only places that may include them.
};
std::span<const Library> libraries();

/// Headers of the language and of the operating system, which are nobody's library.
bool is_system_header(std::string_view name);

/// Words that code of some folders may not contain, comments and literals apart.
struct BannedWords {
    std::string_view folders;
    std::string_view words;
    std::string_view reason;
};
std::span<const BannedWords> banned_words();

/// Whether `item` stands in `list`, whose items are separated by single spaces.
bool contains_word(std::string_view list, std::string_view item);
/// Calls `use` with each item of `list`.
void for_each_word(std::string_view list, const std::function<void(std::string_view)>& use);
/// Whether an item of `list` is a prefix of `text`.
bool starts_with_one_of(std::string_view text, std::string_view list);

}  // namespace retrace::lint
