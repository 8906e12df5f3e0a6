// SPDX-License-Identifier: MIT
#include "node/server/comet/supervisor.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "node/platform/process.hpp"

namespace retrace::node::engine {
namespace {

constexpr int kDeathsMax = 3;  // at one height, each after a short life
constexpr std::chrono::minutes kLongLife{10};
constexpr std::chrono::milliseconds kTick{100}, kBackOffMax{10'000}, kEndTime{10'000};
constexpr std::uint64_t kLogRead = 1U << 20;

/// The last line of the log, for the reason of a failure.
std::string tail(const std::filesystem::path& log) {
    std::ifstream in(log);
    std::string line, last;
    while (std::getline(in, line))
        if (!line.empty()) last = line;
    if (last.size() > 500) last.resize(500);
    return last;
}

bool is_executable(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options) : options_(std::move(options)), thread_([this] { run(); }) {}

Supervisor::~Supervisor() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

bool Supervisor::wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, time, [this] { return stopping_; });
}

std::string Supervisor::consensus_failure() {
    // CometBFT's consensus stops for good while its process and RPC live on.
    std::ifstream in(options_.log, std::ios::binary);
    in.seekg(0, std::ios::end);
    const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(in.tellg(), 0));
    if (in && size < log_read_) log_read_ = 0;  // An operator has emptied it.
    if (!in || size == log_read_) return {};
    // The oldest part of a burst is skipped, to the next line.
    const std::uint64_t from = size - std::min(size - log_read_, kLogRead);
    const bool skipped = from != log_read_;
    std::string text(size - from, '\0');
    in.seekg(static_cast<std::streamoff>(from));
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    const std::size_t complete = text.rfind('\n');
    if (!in || complete == std::string::npos) return {};
    log_read_ = from + complete + 1;
    const std::size_t first = skipped ? text.find('\n') + 1 : 0;
    return find_consensus_failure(std::string_view(text).substr(first, complete + 1 - first));
}

// The child keeps the file open and appends to it, so the file is copied and emptied. It is emptied only when all of it
// was searched for failures and the child wrote nothing during the copy; otherwise the next tick tries again.
void Supervisor::rotate_log() {
    namespace fs = std::filesystem;
    if (log_read_ < options_.log_max) return;
    fs::path old = options_.log;
    old += ".1";
    std::error_code failed;
    fs::copy_file(options_.log, old, fs::copy_options::overwrite_existing, failed);
    if (failed || fs::file_size(options_.log, failed) != log_read_ || failed) return;
    fs::resize_file(options_.log, 0, failed);
    if (!failed) log_read_ = 0;
}

std::string find_consensus_failure(std::string_view log) {
    // A line is "E[time] message", then values. Peers can write into values, which are quoted and on one line, but not
    // into a message.
    constexpr std::string_view kMessages[] = {"CONSENSUS FAILURE!!!", "State sync failed", "Failed to bootstrap node",
                                              "Failed to store last seen commit", "Failed to switch to block sync"};
    while (!log.empty()) {
        const std::size_t end = std::min(log.find('\n'), log.size() - 1);
        const std::string_view line = log.substr(0, end);
        const std::size_t time = line.find("] ");
        const auto begins = [&](std::string_view message) { return line.substr(time + 2).starts_with(message); };
        if (line.starts_with("E[") && time < 40 && std::ranges::any_of(kMessages, begins))
            return std::string(line.substr(time + 2, 500));
        log.remove_prefix(end + 1);
    }
    return {};
}

std::string Supervisor::watch() {
    std::error_code none;
    const std::uintmax_t size = std::filesystem::file_size(options_.log, none);
    log_read_ = none ? 0 : static_cast<std::uint64_t>(size);  // What earlier children wrote is no failure of this one.
    if (options_.before_start) options_.before_start();
    auto child = Process::start(options_.program, {"start", "--home", options_.home.string()}, options_.log,
                                options_.environment);
    if (!child) return child.error().message;
    if (options_.on_start) options_.on_start();
    for (;;) {
        if (!wait(kTick)) {
            child->stop(kEndTime);
            return {};
        }
        if (!child->running()) return "exit status " + std::to_string(*child->exit_status());
        std::string failure = consensus_failure();
        if (failure.empty()) {
            rotate_log();
            if (options_.on_tick) failure = options_.on_tick();
        }
        if (failure.empty()) continue;
        child->stop(kEndTime);
        return failure;
    }
}

void Supervisor::run() {
    std::uint64_t died_at = ~std::uint64_t{0};
    int deaths = 0;
    for (std::chrono::milliseconds back_off{500};; back_off = std::min(2 * back_off, kBackOffMax)) {
        const auto start = std::chrono::steady_clock::now();
        const std::string why = watch();
        if (why.empty()) return;
        const bool lived_long = std::chrono::steady_clock::now() - start > kLongLife;
        const std::uint64_t height = options_.height();
        if (height != died_at || lived_long) {
            died_at = height;
            deaths = 0;
            back_off = std::chrono::milliseconds(500);
        }
        spdlog::warn("event=cometbft_ended height={} why=\"{}\" log={}", height, why, options_.log.string());
        if (++deaths == kDeathsMax) {
            options_.on_failed("CometBFT ended " + std::to_string(kDeathsMax) + " times at height " +
                               std::to_string(height) + " (" + why + "): " + tail(options_.log) + "; its log is " +
                               options_.log.string());
            return;
        }
        if (!wait(back_off)) return;
    }
}

Result<std::filesystem::path> comet_program(const std::string& configured) {
    std::filesystem::path program = find_comet(configured);
    if (!program.empty()) return program;
    return error((configured.empty() ? "the executable cometbft was not found" : configured + " is no executable") +
                 ": `./dev comet` makes one where Go is installed, and --cometbft names one");
}

std::filesystem::path find_comet(const std::string& configured) {
    namespace fs = std::filesystem;
    if (!configured.empty()) return is_executable(configured) ? fs::path(configured) : fs::path();
    std::vector<fs::path> folders{own_executable().parent_path()};
    if (const char* path = std::getenv("PATH")) {
        std::string_view rest(path);
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(':'), rest.size());
            if (end != 0) folders.emplace_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    if (const char* home = std::getenv("HOME")) folders.push_back(fs::path(home) / "go" / "bin");
    for (const fs::path& folder : folders)
        if (is_executable(folder / "cometbft")) return folder / "cometbft";
    return {};
}

}  // namespace retrace::node::engine
