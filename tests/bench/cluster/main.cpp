// SPDX-License-Identifier: MIT
// `bench_cluster [light] [finality] [throughput] [sync] [--json] [--seconds N] [--blocks N]`: four validators with the
// real CometBFT on this machine, and what a light client computes. Runs everything by default.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "node/server/comet/supervisor.hpp"
#include "tests/bench/cluster/measurements.hpp"

int main(int argc, char** argv) {
    using namespace retrace::bench;
    const std::map<std::string, std::function<std::vector<Row>(const ClusterOptions&)>> measurements{
        {"light", measure_light},
        {"finality", measure_finality},
        {"throughput", measure_throughput},
        {"sync", measure_sync}};
    ClusterOptions options;
    bool json = false;
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const double number = i + 1 < argc ? std::atof(argv[i + 1]) : -1;
        if (argument == "--json") {
            json = true;
        } else if (argument == "--seconds" && number >= 1 && number <= 3600) {
            options.seconds = number;
            ++i;
        } else if (argument == "--blocks" && number >= 1100 && number <= 1'000'000) {  // A snapshot is at 1,000.
            options.blocks = static_cast<std::uint64_t>(number);
            ++i;
        } else if (measurements.contains(argument)) {
            names.push_back(argument);
        } else {
            std::fputs(
                "usage: bench_cluster [light] [finality] [throughput] [sync] [--json] [--seconds N] [--blocks N]\n",
                stderr);
            return 2;
        }
    }
    if (names.empty()) names = {"light", "finality", "throughput", "sync"};
    options.comet = program_beside("cometbft");
    if (options.comet.empty()) options.comet = retrace::node::engine::find_comet("");
    options.kvstore = program_beside("abci-cli");
    std::vector<Row> rows;
    try {
        for (const std::string& name : names)
            for (Row& row : measurements.at(name)(options)) rows.push_back(std::move(row));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_cluster: %s\n", e.what());
        return 1;
    }
    report(std::to_string(std::thread::hardware_concurrency()) + " cores, nodes and load together", rows, json);
    return 0;
}
