// SPDX-License-Identifier: MIT
#include "tests/bench/rounds/in_child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace retrace::bench {

double in_child(const std::function<double()>& measure) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) {
        ::close(ends[0]);
        std::string said;
        try {
            said = std::to_string(measure());
        } catch (const std::exception& e) {
            said = std::string("!") + e.what();
        }
        const bool written = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    std::string said;
    char piece[512];
    for (ssize_t n = 0; (n = ::read(ends[0], piece, sizeof piece)) > 0;)
        said.append(piece, static_cast<std::size_t>(n));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    if (said.empty() || said[0] == '!')
        throw std::runtime_error(said.empty() ? "the measuring process ended" : said.substr(1));
    return std::stod(said);
}

}  // namespace retrace::bench
