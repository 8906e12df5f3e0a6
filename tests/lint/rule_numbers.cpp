// SPDX-License-Identifier: MIT
// Code and pages cite rules by number: `SPEC 12.1`, `market 5.2`, and in folders whose rules cite a number beside each
// condition, 12.1.1 alone. A number that no SPEC.md explains tells its reader nothing.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "tests/lint/rules.hpp"
#include "tests/lint/tables.hpp"

namespace retrace::lint {
namespace {

/// Where three numbers with points between them are a rule's. Elsewhere they may be a standard's, or a version.
constexpr std::string_view kCitesAlone = "contracts market";

using Numbers = std::set<std::string, std::less<>>;
using Specs = std::map<std::string, Numbers, std::less<>>;  // By their folders.

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// 12, 12.1, 12.1.1; no more parts: those are addresses.
bool is_number(std::string_view token) {
    if (token.empty() || !is_digit(token.front()) || !is_digit(token.back())) return false;
    for (std::size_t i = 0; i < token.size(); ++i)
        if (!is_digit(token[i]) && (token[i] != '.' || token[i + 1] == '.')) return false;
    return std::count(token.begin(), token.end(), '.') <= 2;
}

bool is_token_character(char c) { return is_word_character(c) || c == '.' || c == '/' || c == '-'; }

struct Token {
    std::string_view before;  ///< What stands between the token before and this one.
    std::string_view text;
};
/// Words, numbers and paths. The end of a sentence belongs to the text between them.
std::vector<Token> tokens_of(std::string_view line) {
    std::vector<Token> out;
    for (std::size_t at = 0; at < line.size();) {
        std::size_t start = at;
        while (start < line.size() && !is_word_character(line[start])) ++start;
        std::size_t end = start;
        while (end < line.size() && is_token_character(line[end])) ++end;
        while (end > start && !is_word_character(line[end - 1])) --end;
        if (end == start) break;
        out.push_back({line.substr(at, start - at), line.substr(start, end - start)});
        at = end;
    }
    return out;
}

/// Sections, and numbers that begin a line, an item of a list or a sentence.
Numbers numbers_of(std::string_view spec) {
    Numbers out;
    for (const std::string_view line : lines_of(spec)) {
        const auto tokens = tokens_of(line);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const std::string_view before = tokens[i].before;
            const bool section = i == 0 && before.starts_with('#');
            const bool begins = i == 0 ? before.empty() || before == "- " : before.ends_with(". ");
            const bool dotted = tokens[i].text.find('.') != std::string_view::npos;
            if (is_number(tokens[i].text) && (section || (begins && dotted))) out.emplace(tokens[i].text);
        }
    }
    return out;
}

Specs specs_of(const Tree& tree) {
    Specs out;
    for (const auto& [path, text] : tree)
        if (path.ends_with("/SPEC.md")) out[path.substr(0, path.rfind('/'))] = numbers_of(text);
    return out;
}

/// The folder whose rules `path` cites when it names none: the nearest with a SPEC.md, of a unit test what it tests.
std::string own_folder(const Specs& specs, std::string_view path) {
    constexpr std::string_view kUnit = "tests/unit/";
    std::string folder(path.starts_with(kUnit) ? path.substr(kUnit.size()) : path);
    do {
        const std::size_t slash = folder.rfind('/');
        folder = slash == std::string::npos ? std::string() : folder.substr(0, slash);
    } while (!folder.empty() && !specs.contains(folder));
    return folder;
}

/// `market`, at the beginning of a sentence `Market`.
std::optional<std::string> named_folder(const Specs& specs, std::string_view token) {
    std::string name(token);
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    return specs.contains(name) && name.find('/') == std::string::npos ? std::optional(name) : std::nullopt;
}

/// The folder of `market/SPEC` or `ops/SPEC.md`, seen from the root or from the file.
std::optional<std::string> folder_of_spec(const Specs& specs, const std::string& path, std::string_view token) {
    if (token.ends_with(".md")) token.remove_suffix(3);
    if (!token.ends_with("/SPEC")) return std::nullopt;
    const std::string folder(token.substr(0, token.size() - 5));
    if (specs.contains(folder)) return folder;
    return (std::filesystem::path(path).parent_path() / folder).lexically_normal().generic_string();
}

bool goes_on(std::string_view between) {
    return between == ", " || between == " " || between == " `" || between == "` ";
}

class Reader {
public:
    Reader(const Specs& specs, const std::string& path)
        : specs_(specs),
          path_(path),
          own_(own_folder(specs, path)),
          alone_(contains_word(kCitesAlone, own_) && path.starts_with(own_ + "/")) {}

    void read(std::string_view line, std::size_t number, Findings& out) {
        std::optional<std::string> cited;  // The folder that the numbers which follow are of.
        bool named = false;                // By the token before.
        for (const Token& token : tokens_of(line)) {
            if (!goes_on(token.before)) cited.reset();
            const bool of_named = std::exchange(named, false) && cited;
            if (is_number(token.text)) {
                const bool alone = alone_ && std::count(token.text.begin(), token.text.end(), '.') == 2;
                if (cited || alone) check(cited.value_or(own_), token.text, number, out);
            } else if (token.text == "SPEC" || token.text == "SPEC.md") {
                if (!of_named) cited = own_;
            } else if (const auto spec = folder_of_spec(specs_, path_, token.text)) {
                cited = spec;
            } else if (const auto folder = named_folder(specs_, token.text)) {
                cited = folder;
                named = true;
            } else if (!contains_word("and to or section", token.text)) {
                cited.reset();
            }
        }
    }

private:
    void check(const std::string& folder, std::string_view cited, std::size_t number, Findings& out) const {
        const auto spec = specs_.find(folder);
        if (spec == specs_.end() || spec->second.contains(cited)) return;
        out.push_back({path_, number, "rule_number", folder + "/SPEC.md has no " + std::string(cited)});
    }

    const Specs& specs_;
    const std::string& path_;
    const std::string own_;
    const bool alone_;
};

}  // namespace

Findings check_rule_numbers(const Tree& tree) {
    Findings out;
    const Specs specs = specs_of(tree);
    for (const auto& [path, text] : tree) {
        const bool page = path.ends_with(".md");
        if (!page && !is_cpp(path)) continue;
        Reader reader(specs, path);
        std::size_t number = 0;
        for (const std::string_view line : lines_of(text))
            reader.read(page ? line : line.substr(comment_start(line)), ++number, out);
    }
    return out;
}

}  // namespace retrace::lint
