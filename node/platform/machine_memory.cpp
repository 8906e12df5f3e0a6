// SPDX-License-Identifier: MIT
#include "node/platform/machine_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>

namespace retrace::node {
namespace {

struct Bound {
    std::uint64_t limit = UINT64_MAX, taken = 0;
};

Bound of_machine() {
    constexpr auto kLine = std::numeric_limits<std::streamsize>::max();
    Bound out;
    std::uint64_t left = 0, kib = 0;
    std::ifstream meminfo("/proc/meminfo");
    for (std::string name; meminfo >> name >> kib; meminfo.ignore(kLine, '\n')) {
        if (name == "MemTotal:") out.limit = kib << 10;
        if (name == "MemAvailable:") left = kib << 10;
    }
    if (out.limit != UINT64_MAX) out.taken = out.limit - std::min(out.limit, left);
    return out;
}

Bound of_group() {
    Bound out;
    std::uint64_t limit = 0;  // "max" does not parse as a number: no limit
    if (std::ifstream in("/sys/fs/cgroup/memory.max"); in >> limit) out.limit = limit;
    if (std::ifstream in("/sys/fs/cgroup/memory.current"); in >> limit) out.taken = limit;
    return out;
}

Bound of_process() {
    Bound out;
    rlimit mapped{};
    if (::getrlimit(RLIMIT_AS, &mapped) != 0 || mapped.rlim_cur == RLIM_INFINITY) return out;
    out.limit = mapped.rlim_cur;
    std::uint64_t pages = 0;
    if (std::ifstream in("/proc/self/statm"); in >> pages)
        out.taken = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return out;
}

std::array<Bound, 3> bounds() { return {of_machine(), of_group(), of_process()}; }

}  // namespace

std::uint64_t memory_limit() {
    std::uint64_t bytes = UINT64_MAX;
    for (const Bound& bound : bounds()) bytes = std::min(bytes, bound.limit);
    return bytes;
}

std::uint64_t memory_left() {
    std::uint64_t bytes = UINT64_MAX;
    for (const Bound& bound : bounds()) bytes = std::min(bytes, bound.limit - std::min(bound.limit, bound.taken));
    return bytes;
}

}  // namespace retrace::node
