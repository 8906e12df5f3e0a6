// SPDX-License-Identifier: MIT
#include "node/server/comet/version.hpp"

#include <charconv>
#include <chrono>
#include <fstream>
#include <thread>

#include "node/platform/printable.hpp"
#include "node/platform/process.hpp"

namespace retrace::node::engine {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kAnswerTime{10};
constexpr std::size_t kVersionMax = 64;

/// The first line of what the program prints.
Result<std::string> ask(const fs::path& program, const fs::path& output) {
    auto child = Process::start(program, {"version"}, output);
    if (!child) return error(child.error().message);
    const auto end = std::chrono::steady_clock::now() + kAnswerTime;
    while (child->running() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (child->running()) return error("`" + program.string() + " version` does not answer");
    if (*child->exit_status() != 0) return error("`" + program.string() + " version` fails");
    std::ifstream in(output);
    std::string line(kVersionMax, '\0');
    in.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(std::min(static_cast<std::size_t>(in.gcount()), line.find('\n')));
    return line;
}

}  // namespace

std::optional<CometLine> line_of(std::string_view version) {
    if (version == "0.39.0") return CometLine::v0_40;
    constexpr std::size_t kLineSize = 5;
    unsigned patch = 0;
    const char* const end = version.data() + version.size();
    if (version.size() <= kLineSize) return std::nullopt;
    const auto read = std::from_chars(version.data() + kLineSize, end, patch);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    if (version.starts_with("0.38.") && patch >= 21) return CometLine::v0_38;
    if (version.starts_with("0.40.")) return CometLine::v0_40;
    return std::nullopt;
}

std::string wrong_version(std::string_view version) {
    return "this CometBFT is version " + std::string(version) +
           "; `./dev comet` makes 0.38.25, and 0.38.21 or a newer 0.38 will do, or on all nodes of a chain 0.40";
}

Result<CometLine> program_line(const fs::path& program, const fs::path& output) {
    std::error_code ignored;
    fs::remove(output, ignored);
    const auto version = ask(program, output);
    fs::remove(output, ignored);
    if (!version) return error(version.error().message);
    const auto line = line_of(*version);
    if (!line) return error(program.string() + ": " + wrong_version(printable(*version)));
    return *line;
}

}  // namespace retrace::node::engine
