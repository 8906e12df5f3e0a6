// SPDX-License-Identifier: MIT
// The worker processes of a process, as listed by the system.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace retrace::testing {

/// Empty when the process has ended, also while its file is read.
inline std::string text_of_process(int pid, const char* file) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
    std::ostringstream read;
    read << in.rdbuf();  // An iterator would throw when reading fails.
    std::string text = read.str();
    std::replace(text.begin(), text.end(), '\0', ' ');
    return text;
}

inline std::vector<int> children_of(int parent) {
    std::vector<int> out;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const int pid = std::stoi(name);
        const std::string stat = text_of_process(pid, "stat");
        const std::size_t end = stat.rfind(')');
        if (end == std::string::npos) continue;
        std::istringstream fields(stat.substr(end + 1));
        char state = 0;
        int of = 0;
        fields >> state >> of;
        if (of == parent && state != 'Z') out.push_back(pid);
    }
    return out;
}

/// Only workers that have called exec: between fork and exec a child looks like its parent.
inline std::vector<int> workers_of(int parent) {
    std::vector<int> out = children_of(parent);
    std::erase_if(out, [](int pid) { return !text_of_process(pid, "cmdline").starts_with("retrace worker "); });
    return out;
}

}  // namespace retrace::testing
