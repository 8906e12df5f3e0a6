// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <thread>

#include "tests/bench/ledger/bench_node.hpp"
#include "tests/bench/ledger/measurements.hpp"

namespace retrace::bench {

std::vector<Row> measure_idle(const Options&) {
    constexpr int kStarts = 5;
    std::fprintf(stderr, "idle: %d starts on a new and on a used data directory\n", kStarts);
    double fresh = 1e9, again = 1e9, memory = 1e9;
    for (int i = 0; i < kStarts; ++i) {  // minimum, because other processes only add time
        const Folder folder;
        fresh = std::min(fresh, BenchNode(folder.path(), {"--dev"}).seconds_to_answer());
        const BenchNode node(folder.path(), {"--dev"});
        again = std::min(again, node.seconds_to_answer());
        if (i + 1 < kStarts) continue;
        std::this_thread::sleep_for(std::chrono::seconds(3));
        memory = node.resident_mib();
    }
    return {{"start_new_directory", "s", "limit", fresh, 0.3},
            {"start_used_directory", "s", "limit", again, 0.3},
            {"idle_memory", "MiB", "limit", memory, 64}};
}

}  // namespace retrace::bench
