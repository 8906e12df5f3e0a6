// SPDX-License-Identifier: MIT
// Runs docs/first-task.md: each of its commands, and compares each line of output that the page shows.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>
#include <thread>

#include "node/cmd/demo/local_network.hpp"
#include "node/platform/process.hpp"
#include "tests/functional/task_fixture.hpp"

namespace retrace::testing {
namespace {

using ::testing::HasSubstr;

struct Step {
    std::string command;             ///< Without "retrace ".
    std::vector<std::string> lines;  ///< That its output must contain; "…" stands for any text.
};

/// The commands of the page's blocks of kind `sh`, each with the lines of the block of kind `text` after it.
std::vector<Step> steps_of(const fs::path& page) {
    std::ifstream in(page);
    std::vector<Step> out;
    std::string kind;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("```")) {
            kind = kind.empty() ? line.substr(3) : "";
        } else if (kind == "sh" && line.starts_with("retrace ")) {
            out.push_back({line.substr(8), {}});
        } else if (kind == "text" && !out.empty()) {
            out.back().lines.push_back(line);
        }
    }
    return out;
}

bool shows(const std::string& output, const std::string& line) {
    std::string pattern;
    for (std::size_t at = 0; at < line.size();) {
        const std::string rest = line.substr(at);
        if (rest.starts_with("…")) {
            pattern += ".*";
            at += std::string_view("…").size();
        } else {
            if (std::string_view(R"(\^$.|?*+()[]{})").find(line[at]) != std::string_view::npos) pattern += '\\';
            pattern += line[at++];
        }
    }
    return std::regex_search(output, std::regex("(^|\n|\r)" + pattern + "(\n|$)"));
}

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

/// The number after the first place where the text has these words; 0 if it has none.
double number_after(const std::string& text, const std::string& words) {
    const std::size_t at = text.find(words);
    return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + words.size(), nullptr);
}

class Tutorial : public TaskTest {
protected:
    bool runs_on(const std::string& command) const {
        return command.starts_with("node ") || command.starts_with("solver ") || command.starts_with("verifier ");
    }
    static std::vector<std::string> words_of(const std::string& command) {
        std::istringstream in(command);
        return {std::istream_iterator<std::string>(in), {}};
    }
    /// Starts a command that runs until the test ends, with a free port for the node.
    void start(const std::string& command, const std::string& node) {
        std::vector<std::string> words = words_of(command);
        if (command.starts_with("node "))
            words.insert(words.end(), {"--rpc-port", node.substr(node.rfind(':') + 1)});
        else
            words.insert(words.end(), {"--node", node});
        for (std::string& word : words)
            if (word.starts_with("first/")) word = path(word).string();
        logs_.push_back(path("log-" + std::to_string(logs_.size())));
        auto process = node::Process::start(RETRACE_PROGRAM, words, logs_.back());
        ASSERT_TRUE(process.has_value()) << process.error().message;
        processes_.push_back(std::move(*process));
    }
    void await(const fs::path& log, const std::string& text) const {
        for (int i = 0; i < 600 && text_of(log).find(text) == std::string::npos; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ASSERT_THAT(text_of(log), HasSubstr(text));
    }

    std::vector<fs::path> logs_;
    std::vector<node::Process> processes_;
};

TEST_F(Tutorial, EveryCommandOfThePageDoesWhatThePageSays) {
    if (!fs::exists("/usr/share/datasets/fashion-mnist"))
        GTEST_SKIP() << "SKIP: Debian's package dataset-fashion-mnist is not installed";
    const std::vector<Step> steps = steps_of(RETRACE_SOURCE_DIR "/docs/first-task.md");
    ASSERT_GT(steps.size(), 9U);
    const auto port = node::free_port();
    ASSERT_TRUE(port.has_value()) << port.error().message;
    const std::string node = "http://127.0.0.1:" + std::to_string(*port);
    fs::create_directories(path("first"));
    const std::string before =
        "cd " + path("").string() + " && env HOME=" + path("").string() + " RETRACE_NODE=" + node + " ";
    for (const Step& step : steps) {
        SCOPED_TRACE(step.command);
        std::string output;
        if (runs_on(step.command)) {
            start(step.command, node);
            if (HasFatalFailure()) return;
            await(logs_.back(), step.command.starts_with("node ") ? "developer accounts" : "event=registered");
            if (HasFatalFailure()) return;
            output = text_of(logs_.back());
        } else {
            const Ran ran = retrace(step.command, before);
            ASSERT_EQ(ran.status, 0) << step.command << "\n" << ran.out << ran.err;
            output = ran.err + ran.out;
        }
        for (const std::string& line : step.lines)
            EXPECT_TRUE(shows(output, line)) << "should show\n" << line << "\nand shows\n" << output;
    }
    // The README's solver can bid for a task that is compiled without further flags.
    ASSERT_EQ(retrace("task compile mlp --data fashion-mnist -o usual", before).status, 0);
    const std::string odds = retrace("task odds usual", before).out, readme = text_of(RETRACE_SOURCE_DIR "/README.md");
    EXPECT_GE(number_after(readme, "--price 0.5 --stake "), number_after(odds, "a bid locks ")) << odds;
}

}  // namespace
}  // namespace retrace::testing
