// SPDX-License-Identifier: MIT
// The commands in the documents' code blocks: the program's own command line reads each of them.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "market/odds.hpp"
#include "node/cmd/cli.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

const std::filesystem::path kRoot = std::filesystem::path(RETRACE_VECTORS) / "../..";

/// A command line in a document.
struct Example {
    std::string place;
    std::vector<std::string> words;  ///< Those after `retrace`.
};

/// Splits a shell command up to its first pipe, redirection, list operator or comment.
std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> out;
    std::string word;
    char quote = 0;
    bool begun = false;
    const auto end_word = [&] {
        if (begun) out.push_back(word);
        word.clear();
        begun = false;
    };
    for (const char c : line) {
        if (quote != 0 ? c == quote : c == '\'' || c == '"') {
            quote = quote != 0 ? 0 : c;
            begun = true;
        } else if (quote == 0 && c == ' ') {
            end_word();
        } else if (quote == 0 && (c == '|' || c == '>' || c == '&' || c == ';' || (c == '#' && !begun))) {
            break;
        } else {
            word += c;
            begun = true;
        }
    }
    end_word();
    return out;
}

/// The commands of `retrace` in the shell blocks of a page.
std::vector<Example> examples_of(const std::filesystem::path& page) {
    std::ifstream file(page);
    std::vector<Example> out;
    bool in_block = false;
    std::string line, whole;
    for (int number = 1; std::getline(file, line); ++number) {
        if (line.starts_with("```")) {
            in_block = !in_block && (line == "```sh" || line == "```bash" || line == "```console");
            whole.clear();
            continue;
        }
        if (!in_block) continue;
        whole += line;
        if (whole.ends_with('\\')) {
            whole.pop_back();
            continue;
        }
        std::vector<std::string> words = words_of(whole);
        whole.clear();
        if (!words.empty() && words[0] == "$") words.erase(words.begin());
        while (!words.empty() && (words[0] == "sudo" || words[0].find('=') != std::string::npos))
            words.erase(words.begin());
        if (words.empty()) continue;
        if (words[0] != "retrace" && !words[0].ends_with("/retrace")) continue;
        words.erase(words.begin());
        out.push_back({page.filename().string() + ":" + std::to_string(number), std::move(words)});
    }
    return out;
}

std::vector<Example> all_examples() {
    std::vector<Example> out = examples_of(kRoot / "README.md");
    for (const auto& entry : std::filesystem::directory_iterator(kRoot / "docs")) {
        if (entry.path().extension() != ".md") continue;
        for (Example& example : examples_of(entry.path())) out.push_back(std::move(example));
    }
    return out;
}

/// The error of the command line; empty if it is understood.
std::string refusal_of(std::vector<std::string> words) {
    for (std::string& word : words)
        word = word == "HEIGHT" ? "1" : word == "HEX" ? std::string(64, 'a') : word;  // Placeholders.
    const auto right = check_command_line(std::move(words));
    return right ? std::string() : right.error().message;
}

TEST(Documents, EveryCommandIsUnderstood) {
    const std::vector<Example> examples = all_examples();
    EXPECT_GE(examples.size(), 26u);
    for (const Example& example : examples) EXPECT_EQ(refusal_of(example.words), "") << example.place;
    EXPECT_NE(refusal_of({"solver", "--no-such-flag"}), "") << "the test itself";
}

TEST(Documents, NoStakeOfAnExampleIsBelowWhatADefaultTaskLocks) {
    market::TaskSpec spec;  // Audits are the defaults of `task compile`, and so is the price.
    spec.price_ceiling = *parse_coins("1");
    const auto floor = market::stake_floor(market::Params{}, spec);
    ASSERT_TRUE(floor.has_value());
    for (const Example& example : all_examples()) {
        const auto at = std::find(example.words.begin(), example.words.end(), "--stake");
        if (at == example.words.end() || example.words[0] != "solver") continue;
        const auto stake = parse_coins(*(at + 1));
        ASSERT_TRUE(stake.has_value()) << example.place;
        EXPECT_GE(*stake, *floor) << example.place;
    }
}

}  // namespace
}  // namespace retrace::node::cli
