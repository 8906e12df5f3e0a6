// SPDX-License-Identifier: MIT
// Output of the benchmarks: a row for each figure, with that of a peer measured in the same run.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace retrace::bench {

/// The peer of a row whose measurement failed begins so.
constexpr std::string_view kFailed = "failed: ";

struct Row {
    std::string name, unit, peer;
    double value = 0, peer_value = 0;  ///< 0: not measured, printed as null; `peer` then gives the reason.
};

/// Prints one tab-separated line for a parent process.
void print_row(const Row& row);
/// Parses the output of such a command. A row of `names` that it did not print has no value and shows how the command
/// ended.
std::vector<Row> child_rows(const std::string& command, const std::vector<std::string>& names);
/// Whether no measurement failed.
bool complete(const std::vector<Row>& rows);

/// All rows as a table, or as one JSON object, on standard output.
void report(const std::string& machine_note, const std::vector<Row>& rows, bool json);

double median(std::vector<double> samples);
std::string machine();
/// Path of the running program, and of a program next to it; empty if that does not exist.
std::string own_path();
std::string program_beside(const std::string& name);

}  // namespace retrace::bench
