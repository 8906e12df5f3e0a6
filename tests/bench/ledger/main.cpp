// SPDX-License-Identifier: MIT
// `bench_ledger [transfers] [reads] [accounts] [idle] [peer] [--json] [--seconds N] [--rate N]`: measures the node and
// the ledger under real conditions: a real process, loopback sockets, blocks synced to disk. Runs everything by
// default.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/bench/ledger/measurements.hpp"

int main(int argc, char** argv) {
    using namespace retrace::bench;
    const std::map<std::string, std::function<std::vector<Row>(const Options&)>> measurements{
        {"transfers", measure_transfers},
        {"reads", measure_reads},
        {"accounts", measure_accounts},
        {"idle", measure_idle},
        {"peer", measure_peer}};
    Options options;
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const double number = i + 1 < argc ? std::atof(argv[i + 1]) : -1;
        if (argument == "--json") {
            options.json = true;
        } else if (argument == "--seconds" && number >= 1 && number <= 3600) {
            options.seconds = number;
            ++i;
        } else if (argument == "--rate" && number >= 0 && number <= 100'000) {
            options.rate = number;
            ++i;
        } else if (measurements.contains(argument)) {
            names.push_back(argument);
        } else {
            std::fputs(
                "usage: bench_ledger [transfers] [reads] [accounts] [idle] [peer] [--json] [--seconds N] "
                "[--rate N]\n",
                stderr);
            return 2;
        }
    }
    if (names.empty()) names = {"idle", "reads", "accounts", "transfers", "peer"};
    std::vector<Row> rows;
    try {
        for (const std::string& name : names) {
            for (Row& row : measurements.at(name)(options)) rows.push_back(std::move(row));
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_ledger: %s\n", e.what());
        return 1;
    }
    report(std::to_string(std::thread::hardware_concurrency()) + " cores, node and load together", rows, options.json);
    return 0;
}
