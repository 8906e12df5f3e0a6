// SPDX-License-Identifier: MIT
// The one stream of the emulated device: work runs at once, or is noted down while a graph is captured.
#pragma once

#include <functional>
#include <vector>

namespace retrace::emulation {

void enqueue(std::function<void()> work);
void begin_recording();
std::vector<std::function<void()>> end_recording();

}  // namespace retrace::emulation
