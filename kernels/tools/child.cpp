// SPDX-License-Identifier: MIT
#include "kernels/tools/child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

namespace retrace::kernels::tools {
namespace {

constexpr char kReturned = '=';  ///< Prefix of an answer, which distinguishes an empty answer from none.

std::string answer_of(const std::function<std::string()>& body) {
    try {
        return body();
    } catch (const std::exception& thrown) {
        return std::string("an exception: ") + thrown.what();
    }
}

bool write_all(int to, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t count = write(to, text.data() + at, text.size() - at);
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) at += static_cast<std::size_t>(count);
    }
    return true;
}

std::string read_all(int from) {
    std::string text;
    char part[512];
    for (;;) {
        const ssize_t count = read(from, part, sizeof part);
        if (count > 0) text.append(part, static_cast<std::size_t>(count));
        if (count == 0 || (count < 0 && errno != EINTR)) return text;
    }
}

std::string system_error(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

}  // namespace

std::string in_child(const std::function<std::string()>& body) {
    int ends[2];
    if (pipe(ends) != 0) return system_error("pipe");
    std::fflush(nullptr);  // Buffered output would otherwise be written twice.
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        _exit(write_all(ends[1], kReturned + answer_of(body)) ? 0 : 1);
    }
    const std::string failed = child < 0 ? system_error("fork") : "";
    close(ends[1]);
    const std::string text = child < 0 ? "" : read_all(ends[0]);
    close(ends[0]);
    if (child < 0) return failed;
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return system_error("waitpid");
    }
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        return "ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
    }
    if (WEXITSTATUS(status) != 0 || text.empty() || text[0] != kReturned)
        return "ended with status " + std::to_string(WEXITSTATUS(status)) + " and no answer";
    return text.substr(1);
}

}  // namespace retrace::kernels::tools
