// SPDX-License-Identifier: MIT
#include "tests/bench/rounds/gloo.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "node/platform/process.hpp"
#include "tests/bench/rounds/in_child.hpp"
#include "tests/netlab/namespaces.hpp"

namespace retrace::bench {
namespace {

namespace fs = std::filesystem;
using node::Namespaces;
using node::Process;

constexpr double kSeconds = 10;  ///< Of the steps of a round. Only the ratio counts.
constexpr int kRounds = 3;

double seconds_of_a_round(double ratio, std::uint64_t parameters, std::uint32_t members) {
    auto namespaces = Namespaces::enter(members);
    if (!namespaces) throw std::runtime_error(namespaces.error().message);
    const auto rate = static_cast<std::uint64_t>(4 * static_cast<double>(parameters) / (ratio * kSeconds));
    const fs::path log = fs::temp_directory_path() / ("retrace-gloo-" + std::to_string(::getpid()));
    std::vector<Process> ranks;
    for (std::uint32_t i = 0; i < members; ++i) {
        if (const auto limited = namespaces->limit_rate(i, rate); !limited)
            throw std::runtime_error(limited.error().message);
        auto started =
            Process::start("/usr/bin/env",
                           {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "GLOO_SOCKET_IFNAME=eth0", "ip", "netns", "exec",
                            "node" + std::to_string(i), "/usr/bin/python3", RETRACE_GLOO_ROUNDS, std::to_string(i),
                            std::to_string(members), Namespaces::kPrefix + std::string("1"), std::to_string(parameters),
                            std::to_string(kSeconds), std::to_string(kRounds)},
                           log.string() + "-" + std::to_string(i));
        if (!started) throw std::runtime_error(started.error().message);
        ranks.push_back(std::move(started).value());
    }
    bool failed = false;
    for (Process& rank : ranks) {
        while (rank.running()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        failed = failed || rank.exit_status() != 0;
    }
    std::ifstream in(log.string() + "-0");
    std::string said, last;
    while (std::getline(in, said)) last = said;
    for (std::uint32_t i = 0; i < members; ++i) fs::remove(log.string() + "-" + std::to_string(i));
    if (failed)
        throw std::runtime_error("Gloo did not run, for example because the Debian package python3-torch is missing: " +
                                 last);
    return std::stod(last);
}

}  // namespace

double gloo_stretch(double ratio, std::uint64_t parameters, std::uint32_t members) {
    const double round = in_child([&] { return seconds_of_a_round(ratio, parameters, members); });
    std::fprintf(stderr, "ratio %.2f: a round with Gloo takes %.2f s, its steps %.2f s\n", ratio, round, kSeconds);
    return round / kSeconds;
}

}  // namespace retrace::bench
