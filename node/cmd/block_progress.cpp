// SPDX-License-Identifier: MIT
#include "node/cmd/block_progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace retrace::node::cli {
namespace {

constexpr const char* kClearLine = "\r\033[K";

}  // namespace

BlockProgress::~BlockProgress() {
    if (shown_) std::fputs(kClearLine, stderr);
}

void BlockProgress::operator()(std::uint64_t next, std::uint64_t last) {
    if (::isatty(STDERR_FILENO) == 0 || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
    shown_ = true;
    std::fprintf(stderr, "%sblocks are read up to %llu of %llu", kClearLine,
                 static_cast<unsigned long long>(std::min(next, last + 1) - 1), static_cast<unsigned long long>(last));
    std::fflush(stderr);
}

}  // namespace retrace::node::cli
