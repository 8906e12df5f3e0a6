// SPDX-License-Identifier: MIT
// `bench_rounds [--json] [--steps N] [--seeds N] [--outer-rate X] [--round-seconds S] [--only ROW]`: trainings in rounds beside the same
// training on one machine, bytes of messages beside dense updates, and what rounds add to the work of a member.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/bench/rounds/measurements.hpp"

namespace retrace::bench {
namespace {

int run(const std::vector<std::string>& arguments) {
    bool json = false;
    RoundsOptions options;
    std::string only;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const bool more = i + 1 < arguments.size();
        if (arguments[i] == "--json")
            json = true;
        else if (arguments[i] == "--only" && more)
            only = arguments[++i];
        else if (arguments[i] == "--steps" && more)
            options.steps = std::max(10, std::atoi(arguments[++i].c_str()));
        else if (arguments[i] == "--seeds" && more)
            options.seeds = std::max(1, std::atoi(arguments[++i].c_str()));
        else if (arguments[i] == "--outer-rate" && more)
            options.outer_rate = std::strtof(arguments[++i].c_str(), nullptr);
        else if (arguments[i] == "--round-seconds" && more)
            options.round_seconds = std::max(5.0, std::atof(arguments[++i].c_str()));
        else
            return std::fputs(
                       "usage: bench_rounds [--json] [--steps N] [--seeds N] [--outer-rate X] "
                       "[--round-seconds S] [--only ROW]\n",
                       stderr),
                   2;
    }
    const Wants wants = [&](const std::string& row) { return only.empty() || only == row; };
    std::vector<Row> rows;
    const auto append = [&](const std::vector<Row>& more) { rows.insert(rows.end(), more.begin(), more.end()); };
    if (wants("rounds_ratio")) append(measure_ratio());
    if (wants("rounds_regions")) append(measure_regions());
    if (wants("rounds_outer") || wants("rounds_audit")) append(measure_outer());
    if (wants("rounds_ledger")) append(measure_ledger());
    if (wants("mask_bytes")) append(measure_masks());
    if (!only.empty()) append(measure_network(options, wants));  // Minutes each: by name only.
    append(measure_quality(options, wants));
    report("quality on one core, the rest on all", rows, json);
    return complete(rows) ? 0 : 1;
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) { return retrace::bench::run(std::vector<std::string>(argv + 1, argv + argc)); }
