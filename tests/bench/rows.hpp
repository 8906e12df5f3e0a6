// SPDX-License-Identifier: MIT
// What the benchmarks print: a row for each figure, beside that of a peer measured in the same run.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace retrace::bench {

struct Row {
    std::string name, unit, peer;
    double value = 0, peer_value = 0;  ///< 0: not measured, printed as null; `peer` then says why.
};

/// One line of tabs for a parent process.
void print_row(const Row& row);
/// What such a command printed. A row of `names` that it did not print is there without a value and says how it ended.
std::vector<Row> child_rows(const std::string& command, const std::vector<std::string>& names);
/// Whether every command came to its end.
bool complete(const std::vector<Row>& rows);

/// All rows as a table, or as one JSON object, on standard output.
void report(const std::string& machine_note, const std::vector<Row>& rows, bool json);

double median(std::vector<double> samples);
std::string machine();
/// The running program's own file, and one of the given name beside it; empty where that does not exist.
std::string own_path();
std::string program_beside(const std::string& name);

}  // namespace retrace::bench
