// SPDX-License-Identifier: MIT
// `bench_market [--json] [--only ROWS]`: a market with many open bids, its auctions, what its agents make of it, the time
// until a new solver has bid, and the console's page. ROWS: load, match, welfare, classes, waiting, quickstart or console.
#include <cstdio>
#include <string>

#include "tests/bench/market/measurements.hpp"

namespace retrace::bench {
namespace {

int run(const std::vector<std::string>& arguments) {
    bool json = false;
    std::string only;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--json")
            json = true;
        else if (arguments[i] == "--only" && i + 1 < arguments.size())
            only = arguments[++i];
        else
            return std::fputs(
                       "usage: bench_market [--json] [--only load|match|welfare|classes|waiting|quickstart|console]\n",
                       stderr),
                   2;
    }
    std::vector<Row> rows;
    const auto measure = [&](const char* name, const auto& rows_of) {
        if (!only.empty() && only != name) return;
        const std::vector<Row> more = rows_of();
        rows.insert(rows.end(), more.begin(), more.end());
    };
    measure("load", [] { return measure_load({}); });
    measure("match", [] { return measure_match(); });
    measure("welfare", [] { return measure_welfare(200); });
    measure("classes", [] { return measure_classes(200); });
    measure("waiting", [] { return measure_waiting(200); });
    measure("quickstart", [] { return measure_quickstart(); });
    measure("console", [] { return measure_console(); });
    report("one thread; the state is in memory", rows, json);
    return complete(rows) ? 0 : 1;
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) { return retrace::bench::run(std::vector<std::string>(argv + 1, argv + argc)); }
