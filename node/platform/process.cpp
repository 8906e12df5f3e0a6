// SPDX-License-Identifier: MIT
#include "node/platform/process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

namespace retrace::node {

Result<Process> Process::start(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                               const std::filesystem::path& log, const std::vector<std::string>& environment) {
    // All allocations happen before the fork: the child of a multi-threaded process may not allocate.
    const std::string path = program.string(), log_path = log.string();
    std::vector<std::string> words{path};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::vector<std::string> variables = environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view inherited(*variable);
        const std::string_view name = inherited.substr(0, inherited.find('=') + 1);
        if (std::ranges::none_of(environment, [&](const std::string& own) { return own.starts_with(name); }))
            variables.emplace_back(inherited);
    }
    std::vector<char*> envp;
    for (std::string& variable : variables) envp.push_back(variable.data());
    envp.push_back(nullptr);

    const int parent = ::getpid();
    const int pid = ::fork();
    if (pid < 0) return error(std::string("cannot start a process: ") + std::strerror(errno));
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);
        // The child has neither our sockets nor the signals that we block.
        ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        const int out = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (out < 0 || in < 0) ::_exit(127);
        ::dup2(in, 0);
        ::dup2(out, 1);
        ::dup2(out, 2);
        ::execve(path.c_str(), argv.data(), envp.data());
        ::_exit(127);
    }
    return Process(pid);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(std::exchange(other.status_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(status_, other.status_);
    return *this;
}

Process::~Process() {
    if (pid_ > 0) stop();
}

bool Process::running() {
    if (pid_ <= 0 || status_) return false;
    int status = 0;
    const int ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return true;
    if (ended < 0)
        status_ = 255;  // Someone else has reaped it, e.g. the kernel where SIGCHLD is ignored.
    else
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
}

std::optional<int> Process::exit_status() {
    running();
    return status_;
}

void Process::send(int signal) {
    if (running()) ::kill(pid_, signal);
}

void Process::stop(std::chrono::milliseconds timeout) {
    send(SIGTERM);
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (running() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill();
}

void Process::kill() {
    send(SIGKILL);
    while (running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

namespace {

/// Binds `port` (0: any free one) and returns the bound port.
std::optional<std::uint16_t> try_port(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return std::nullopt;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool ok = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    const int code = errno;
    ::close(fd);
    errno = code;
    return ok ? std::optional(ntohs(address.sin_port)) : std::nullopt;
}

}  // namespace

Result<std::uint16_t> free_port() {
    // Below the ephemeral range: a client could take such a port while a server is restarted.
    constexpr std::uint16_t kFirst = 15'000, kLast = 32'000;
    std::random_device random;
    std::uniform_int_distribution<std::uint16_t> port(kFirst, kLast);
    for (int i = 0; i < 16; ++i)
        if (const auto taken = try_port(port(random))) return *taken;
    if (const auto taken = try_port(0)) return *taken;
    return error(std::string("no free port on 127.0.0.1: ") + std::strerror(errno));
}

std::filesystem::path own_executable() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace retrace::node
