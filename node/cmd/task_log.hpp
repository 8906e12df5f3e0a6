// SPDX-License-Identifier: MIT
// What happened to a task, kept in the requester's folder: it can be read when the node has forgotten the blocks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::node::cli {

class TaskLog {
public:
    struct Line {
        std::uint64_t height = 0;
        std::string text;
        bool operator==(const Line&) const = default;
    };
    static constexpr std::size_t kLinesMax = 100'000;

    /// Reads the file, if there is one. Lines that are not understood are left out.
    explicit TaskLog(std::filesystem::path file);

    /// Keeps the line unless it is there or the log is full. An Error if it cannot be written.
    Status<> add(std::uint64_t height, const std::string& text);
    /// Whether a line was left out because there were kLinesMax.
    bool is_full() const noexcept { return full_; }
    /// What the reader of a full log has to know.
    std::string full_note() const;
    /// By height, those of one block in the order in which they were added.
    const std::vector<Line>& lines() const noexcept { return lines_; }

private:
    std::filesystem::path file_;
    std::vector<Line> lines_;
    bool full_ = false;
};

}  // namespace retrace::node::cli
