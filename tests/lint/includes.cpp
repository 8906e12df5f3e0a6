// SPDX-License-Identifier: MIT
// Who may include what: folders along the arrows, libraries in their homes, and never in a circle.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tests/lint/rules.hpp"
#include "tests/lint/tables.hpp"

namespace retrace::lint {
namespace {

std::string top_folder(std::string_view path) {
    const std::size_t slash = path.find('/');
    return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

// protoc writes these into the build folder. They are Protobuf by another name.
bool is_generated(std::string_view target) { return target.ends_with(".pb.h"); }

bool in_home(std::string_view path, const Library& library) { return starts_with_one_of(path, library.homes); }

std::string parent_of(std::string_view path) { return std::string(path.substr(0, path.rfind('/'))); }

/// The folder in `folder` where the file lies; empty for a file that lies in `folder` itself.
std::string subfolder_in(std::string_view folder, std::string_view path) {
    const std::size_t end = path.find('/', folder.size() + 1);
    return end == std::string_view::npos ? std::string() : std::string(path.substr(0, end));
}

/// Why a file of the subfolder may not include the target; empty: it may.
std::string subfolder_problem(const SubfolderRule& subfolder, const std::string& path, const std::string& target) {
    const std::string folder = parent_of(subfolder.path);
    if (!path.starts_with(std::string(subfolder.path) + "/") || !target.starts_with(folder + "/")) return {};
    const std::string to = subfolder_in(folder, target);
    if (to == subfolder.path || contains_word(subfolder.may_include, to)) return {};
    return std::string(subfolder.path) + " may not include " + (to.empty() ? "what lies beside it in " + folder : to);
}

/// The subfolder of the table in whose folder the file lies in a subfolder that is not in the table.
std::string unknown_subfolder(const std::string& path) {
    const auto subfolders = subfolder_rules();
    for (const SubfolderRule& rule : subfolders) {
        const std::string folder = parent_of(rule.path);
        if (!path.starts_with(folder + "/")) continue;
        const std::string in = subfolder_in(folder, path);
        const bool known =
            std::any_of(subfolders.begin(), subfolders.end(), [&](const SubfolderRule& r) { return r.path == in; });
        if (!in.empty() && !known) return in;
    }
    return {};
}

Finding wrong_home(const std::string& path, std::size_t line, std::string_view library, std::string_view homes) {
    return {path, line, "third_party_home",
            std::string(library) + " may be included only under: " + std::string(homes)};
}

}  // namespace

Findings check_arrows(const Tree& tree) {
    Findings out;
    for (const auto& [path, text] : tree) {
        const std::string from = top_folder(path);
        const FolderRule* rule = find_folder(from);
        if (!is_cpp(path) || rule == nullptr) continue;
        if (const std::string subfolder = unknown_subfolder(path); !subfolder.empty()) {
            out.push_back({path, 0, "subfolder_unknown", subfolder + " has no row in the table of subfolders"});
        }
        for (const Include& include : includes_of(text)) {
            const std::string to = top_folder(include.target);
            const bool ours = find_folder(to) != nullptr;
            if (include.angle) {
                if (ours && tree.contains(include.target)) {
                    out.push_back({path, include.line, "include_quotes", "our own headers stand in quotes"});
                }
                continue;
            }
            if (is_generated(include.target)) continue;
            if (!tree.contains(include.target)) {
                out.push_back({path, include.line, "include_missing",
                               "\"" + include.target + "\" is not a file, seen from the root of the tree"});
            } else if (ours && to != from && !contains_word(rule->may_include, to)) {
                out.push_back({path, include.line, "include_arrow", from + " may not include " + to});
            }
            for (const SubfolderRule& subfolder : subfolder_rules()) {
                const std::string problem = subfolder_problem(subfolder, path, include.target);
                if (!problem.empty()) out.push_back({path, include.line, "include_arrow", problem});
            }
        }
    }
    return out;
}

Findings check_third_party(const Tree& tree) {
    Findings out;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path)) continue;
        for (const Include& include : includes_of(text)) {
            if (!include.angle) {
                // Messages stay with the code that reads and writes them; a test may play the other side.
                const std::string home = "node/" + parent_of(include.target) + "/";
                if (is_generated(include.target) && !path.starts_with(home) && !path.starts_with("tests/unit/node/") &&
                    !path.starts_with("tests/fuzz/node/"))
                    out.push_back(wrong_home(path, include.line, "Protobuf", home));
                continue;
            }
            const auto libs = libraries();
            const auto library = std::find_if(libs.begin(), libs.end(), [&](const Library& l) {
                return starts_with_one_of(include.target, l.headers);
            });
            if (library != libs.end()) {
                if (!in_home(path, *library)) {
                    out.push_back(wrong_home(path, include.line, library->name, library->homes));
                }
            } else if (!is_system_header(include.target) && !tree.contains(include.target)) {
                out.push_back({path, include.line, "third_party_unknown",
                               "<" + include.target + "> belongs to no library of the table"});
            }
        }
    }
    return out;
}

namespace {

using Graph = std::map<std::string, std::set<std::string>>;

/// One finding for each circle, at its first node in order of name.
Findings circles_of(const Graph& graph, const std::string& rule) {
    std::set<std::string> done;
    std::vector<std::string> stack;
    Findings out;
    const std::function<void(const std::string&)> visit = [&](const std::string& node) {
        const auto open = std::find(stack.begin(), stack.end(), node);
        if (open != stack.end()) {
            std::string circle;
            for (auto it = open; it != stack.end(); ++it) circle += *it + " -> ";
            out.push_back({node, 0, rule, circle + node});
            return;
        }
        if (done.contains(node)) return;
        stack.push_back(node);
        for (const std::string& next : graph.at(node)) visit(next);
        stack.pop_back();
        done.insert(node);
    };
    for (const auto& [node, next] : graph) visit(node);
    return out;
}

/// "node/net" of a file that lies there or below; empty for a file of the folder itself.
std::string subfolder_of(const std::string& path) { return subfolder_in(top_folder(path), path); }

}  // namespace

Findings check_cycles(const Tree& tree) {
    Graph files, subfolders;
    for (const auto& [path, text] : tree) {
        if (!is_cpp(path)) continue;
        std::set<std::string>& next = files[path];
        const std::string subfolder = subfolder_of(path);
        for (const Include& include : includes_of(text)) {
            if (include.angle || !tree.contains(include.target) || !is_cpp(include.target)) continue;
            next.insert(include.target);
            const std::string to = subfolder_of(include.target);
            if (subfolder.empty() || to.empty() || to == subfolder) continue;
            if (top_folder(path) != top_folder(include.target)) continue;
            if (top_folder(path) == "tests") continue;
            subfolders[subfolder].insert(to);
            subfolders.try_emplace(to);
        }
    }
    Findings out = circles_of(files, "include_cycle");
    for (Finding& circle : circles_of(subfolders, "subfolder_cycle")) out.push_back(std::move(circle));
    return out;
}

}  // namespace retrace::lint
