// SPDX-License-Identifier: MIT
#include "solver/torch/confined.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include "solver/sandbox/sandbox.hpp"

namespace retrace::solver {
namespace {

constexpr std::size_t kSentenceMax = 4096;
constexpr int kRefused = 1;

void write_all(int descriptor, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t count = ::write(descriptor, text.data() + at, text.size() - at);
        if (count <= 0) return;
        at += static_cast<std::size_t>(count);
    }
}

/// Redirects the standard streams to /dev/null, because output could contain control sequences for a terminal.
bool silence() {
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) return false;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::dup2(nowhere, stream) < 0) return false;
    return ::close(nowhere) == 0;
}

Status<> confine(const Allowance& allowance, pid_t parent) {
    rlimit most{};
    if (::getrlimit(RLIMIT_FSIZE, &most) != 0) return error("the process that reads the model has no limits");
    most.rlim_cur = most.rlim_max = std::min<rlim_t>(most.rlim_max, allowance.file_bytes);
    // With SIGXFSZ ignored, exceeding the file limit is a write error and does not end the process.
    if (!silence() || ::setrlimit(RLIMIT_FSIZE, &most) != 0 || std::signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
        ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) {
        return error("the process that reads the model cannot be confined");
    }
    return allowance.sandbox ? enter_sandbox() : Status<>(Unit{});
}

[[noreturn]] void be_the_child(const Allowance& allowance, const std::function<Status<>()>& work, pid_t parent,
                               int answer) {
    Status<> done = confine(allowance, parent);
    if (done) done = work();
    if (!done) write_all(answer, done.error().message.substr(0, kSentenceMax));
    // Not exit(), which would run the parent's exit handlers and flush its buffers.
    ::_exit(done ? 0 : kRefused);
}

/// Returns the child's exit status; nullopt if it did not end by the deadline and was killed.
std::optional<int> wait_until(pid_t child, std::chrono::steady_clock::time_point deadline) {
    constexpr std::chrono::milliseconds kNap{5};
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child) return status;
        const bool late = std::chrono::steady_clock::now() >= deadline;
        if (late || (ended < 0 && errno != EINTR)) {
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
            return std::nullopt;
        }
        std::this_thread::sleep_for(kNap);
    }
}

/// Reads the message that the child wrote to the pipe before it ended.
std::string read_answer(int descriptor) {
    std::string out(kSentenceMax, '\0');
    const ssize_t count = ::read(descriptor, out.data(), out.size());
    out.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return plain_line(std::move(out));
}

Status<> judge(std::optional<int> status, const std::string& said) {
    constexpr const char* kTooMuch =
        "reading it was stopped: the model takes more time or memory than it may (twenty minutes of a "
        "processor, an hour, three quarters of the memory)";
    if (!status) return error(kTooMuch);
    if (WIFSIGNALED(*status)) {
        const int signal = WTERMSIG(*status);
        if (signal == SIGXCPU || signal == SIGKILL) return error(kTooMuch);
        return error("LibTorch ended with signal " + std::to_string(signal) +
                     " while it read the model; the file may be corrupt");
    }
    if (WEXITSTATUS(*status) == 0) return Unit{};
    return error(said.empty() ? "LibTorch ended while it read the model; the file may be corrupt" : said);
}

}  // namespace

std::string plain_line(std::string text) {
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

Status<> run_confined(const Allowance& allowance, const std::function<Status<>()>& work) {
    std::array<int, 2> pipe{};
    // The answer fits into an empty pipe, so neither side blocks.
    if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) return error("no pipe to the process that reads the model");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(allowance.wall_seconds);
    const pid_t parent = ::getpid(), child = ::fork();
    if (child == 0) be_the_child(allowance, work, parent, pipe[1]);
    ::close(pipe[1]);
    Status<> out = error("the process that reads the model does not start");
    if (child > 0) {
        const std::optional<int> status = wait_until(child, deadline);
        out = judge(status, read_answer(pipe[0]));
    }
    ::close(pipe[0]);
    return out;
}

}  // namespace retrace::solver
