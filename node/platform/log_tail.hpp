// SPDX-License-Identifier: MIT
// The newest lines of a process's log in memory, for its own page.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace retrace::node {

/// Bounded in lines and bytes, whatever is logged. Thread-safe.
class LogTail {
public:
    static constexpr std::size_t kLines = 1'000;
    static constexpr std::size_t kBytes = std::size_t{256} << 10;
    static constexpr std::size_t kLineBytes = 2'000;  ///< Longer lines are cut.

    struct Page {
        std::uint64_t first = 0;  ///< Number of the first line; lines are numbered from 0 in the order they were added.
        std::vector<std::string> lines;
    };

    /// Appends a line without its line break; control characters become question marks.
    void add(std::string_view line);
    /// The kept lines with numbers from `number` on; all of them if no line has that number yet and none is next.
    Page from(std::uint64_t number) const;

private:
    mutable std::mutex mutex_;  // guards the members below
    std::deque<std::string> lines_;
    std::uint64_t first_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace retrace::node
