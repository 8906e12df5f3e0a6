// SPDX-License-Identifier: MIT
#include "tests/bench/rows.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace retrace::bench {
namespace {

std::string number(double value) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.4g", value);
    return value == 0 ? "null" : text.data();
}

}  // namespace

void print_row(const Row& row) {
    std::printf("%s\t%s\t%s\t%.9g\t%.9g\n", row.name.c_str(), row.unit.c_str(), row.peer.c_str(), row.value,
                row.peer_value);
    std::fflush(stdout);
}

std::vector<Row> child_rows(const std::string& command, const std::vector<std::string>& names) {
    std::vector<Row> rows;
    FILE* const pipe = popen(command.c_str(), "r");
    std::array<char, 512> line;
    while (pipe != nullptr && std::fgets(line.data(), line.size(), pipe) != nullptr) {
        std::array<std::string, 5> field;
        std::size_t at = 0;
        for (const char* p = line.data(); *p != '\0' && *p != '\n' && at < field.size(); ++p) {
            if (*p == '\t')
                ++at;
            else
                field[at].push_back(*p);
        }
        rows.push_back({field[0], field[1], field[2], std::strtod(field[3].c_str(), nullptr),
                        std::strtod(field[4].c_str(), nullptr)});
    }
    const int status = pipe == nullptr ? -1 : pclose(pipe);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    std::vector<std::string> missing;
    for (const std::string& name : names) {
        if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; }))
            missing.push_back(name);
    }
    if (code != 0 && missing.empty()) missing.push_back(command);
    for (const std::string& name : missing)
        rows.push_back({name, "", std::string(kFailed) + "it ended with status " + std::to_string(code)});
    return rows;
}

bool complete(const std::vector<Row>& rows) {
    return std::none_of(rows.begin(), rows.end(), [](const Row& row) { return row.peer.starts_with(kFailed); });
}

void report(const std::string& machine_note, const std::vector<Row>& rows, bool json) {
    if (json) std::printf("{\"machine\":\"%s, %s\",\"results\":[", machine().c_str(), machine_note.c_str());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Row& r = rows[i];
        const std::string ratio = number(r.peer_value == 0 ? 0 : r.value / r.peer_value);
        if (json) {
            std::printf(
                "%s{\"name\":\"%s\",\"value\":%s,\"unit\":\"%s\",\"peer\":\"%s\",\"peer_value\":%s,"
                "\"ratio\":%s}",
                i == 0 ? "" : ",", r.name.c_str(), number(r.value).c_str(), r.unit.c_str(), r.peer.c_str(),
                number(r.peer_value).c_str(), ratio.c_str());
        } else {
            std::printf("%-22s %9s %-10s %9s  ratio %-8s (%s)\n", r.name.c_str(), number(r.value).c_str(),
                        r.unit.c_str(), number(r.peer_value).c_str(), ratio.c_str(), r.peer.c_str());
        }
    }
    if (json) std::printf("]}\n");
}

double median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

std::string machine() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown";
}

std::string own_path() {
    std::array<char, 4096> path;
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    return length <= 0 ? "" : std::string(path.data(), static_cast<std::size_t>(length));
}

std::string program_beside(const std::string& name) {
    const std::string own = own_path();
    const std::string path = own.substr(0, own.rfind('/') + 1) + name;
    return access(path.c_str(), X_OK) == 0 ? path : "";
}

}  // namespace retrace::bench
