// SPDX-License-Identifier: MIT
// The streams of the emulated device: work runs at once, or is recorded while a graph is captured. A stream that
// depends on another runs as late as possible: when it is waited for.
#pragma once

#include <functional>
#include <vector>

struct CUstream_st {
    bool late = false;
    std::vector<std::function<void()>> waiting;
};

namespace retrace::emulation {

void enqueue(CUstream_st* stream, std::function<void()> work);
bool is_recording();
void begin_recording();
std::vector<std::function<void()>> end_recording();

}  // namespace retrace::emulation
