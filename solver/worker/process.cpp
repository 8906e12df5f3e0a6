// SPDX-License-Identifier: MIT
#include "solver/worker/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace retrace::solver {
namespace {

/// Owns one end of a pipe.
struct End {
    int descriptor = -1;
    ~End() {
        if (descriptor >= 0) ::close(descriptor);
    }
    int release() { return std::exchange(descriptor, -1); }
};

/// Opens a pipe with descriptors above the standard streams, so that dup2 in the child does not overwrite one of them.
bool open_pipe(End& read, End& write) {
    constexpr int kLeast = 3, kRoom = 1 << 20;
    std::array<int, 2> made{};
    if (::pipe2(made.data(), O_CLOEXEC) != 0) return false;
    const End first{made[0]}, second{made[1]};
    read.descriptor = ::fcntl(first.descriptor, F_DUPFD_CLOEXEC, kLeast);
    write.descriptor = ::fcntl(second.descriptor, F_DUPFD_CLOEXEC, kLeast);
    // A larger buffer needs fewer context switches for each tensor. A failure only costs speed.
    (void)::fcntl(write.descriptor, F_SETPIPE_SZ, kRoom);
    return read.descriptor >= 0 && write.descriptor >= 0;
}

bool set_nonblocking(int descriptor) {
    const int flags = ::fcntl(descriptor, F_GETFL);
    return flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0;
}

/// Spawn attributes of a worker: default signal handling, pipes as standard streams, no other open files.
class Spawning {
public:
    Spawning(int in, int out) {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawn_file_actions_adddup2(&actions_, in, STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
        ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
        ::posix_spawnattr_init(&attributes_);
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        // Its own process group, so that it does not get the signals that a terminal sends to the party.
        ::posix_spawnattr_setflags(&attributes_,
                                   POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~Spawning() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    Spawning(const Spawning&) = delete;
    Spawning& operator=(const Spawning&) = delete;

    int run(const std::string& program, std::vector<std::string> words, pid_t& pid) {
        std::vector<char*> argv, environment;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        std::string level;
        if (const char* chosen = std::getenv("RETRACE_CPU"); chosen != nullptr) {
            level = std::string("RETRACE_CPU=") + chosen;
            environment.push_back(level.data());
        }
        environment.push_back(nullptr);
        return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, argv.data(), environment.data());
    }

private:
    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

std::string words_of_status(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        const char* const name = ::sigabbrev_np(signal);
        return "ended by signal " + std::to_string(signal) + (name != nullptr ? " (SIG" + std::string(name) + ")" : "");
    }
    return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::filesystem::path& executable,
                                                            const WorkerLimits& limits, const std::string& label) {
    std::signal(SIGPIPE, SIG_IGN);
    End request_in, request_out, reply_in, reply_out;
    if (!open_pipe(request_in, request_out) || !open_pipe(reply_in, reply_out) ||
        !set_nonblocking(request_out.descriptor) || !set_nonblocking(reply_in.descriptor)) {
        return error(std::string("no pipes to a worker process: ") + std::strerror(errno));
    }
    std::vector<std::string> words{"retrace", "worker"};
    for (std::string& word : words_of(limits)) words.push_back(std::move(word));
    words.push_back(label);
    pid_t pid = -1;
    const int failed =
        Spawning(request_in.descriptor, reply_out.descriptor).run(executable.string(), std::move(words), pid);
    if (failed != 0)
        return error("the worker process " + executable.string() + " does not start: " + std::strerror(failed));
    return std::unique_ptr<WorkerProcess>(new WorkerProcess(pid, reply_in.release(), request_out.release()));
}

WorkerProcess::~WorkerProcess() { (void)end(); }

std::string WorkerProcess::end() {
    if (!ended_.empty()) return ended_;
    // A process that closed its pipes is about to exit; wait up to 100 ms for its exit status.
    constexpr int kLooks = 50;
    int status = 0;
    pid_t gone = 0;
    for (int look = 0; look < kLooks && gone == 0; ++look) {
        gone = ::waitpid(pid_, &status, WNOHANG);
        if (gone == 0 && !channel_.wait(std::chrono::milliseconds(0))) break;
        if (gone == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (gone != 0) return ended_ = gone == pid_ ? words_of_status(status) : "gone";
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return ended_ = "stopped";
}

}  // namespace retrace::solver
