// SPDX-License-Identifier: MIT
#include "node/platform/log_tail.hpp"

#include <algorithm>

#include "node/platform/printable.hpp"

namespace retrace::node {

void LogTail::add(std::string_view line) {
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    std::size_t size = std::min(line.size(), kLineBytes);
    const bool is_cut = size < line.size();
    // Not within a character of UTF-8, which a JSON document could not have.
    while (is_cut && size > 0 && (static_cast<unsigned char>(line[size]) & 0xc0) == 0x80) --size;
    std::string text = printable(std::string(line.substr(0, size)));
    if (is_cut) text += " …";
    const std::lock_guard lock(mutex_);
    bytes_ += text.size();
    lines_.push_back(std::move(text));
    while (lines_.size() > kLines || bytes_ > kBytes) {
        bytes_ -= lines_.front().size();
        lines_.pop_front();
        ++first_;
    }
}

LogTail::Page LogTail::from(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    Page out;
    out.first = std::max(number, first_);
    const std::uint64_t end = first_ + lines_.size();
    // A number beyond the end is of a process before this one.
    if (number > end) out.first = first_;
    for (std::uint64_t at = out.first; at < end; ++at)
        out.lines.push_back(lines_[static_cast<std::size_t>(at - first_)]);
    return out;
}

}  // namespace retrace::node
