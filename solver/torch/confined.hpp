// SPDX-License-Identifier: MIT
// A process of its own for whatever looks into a stranger's file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "merkle/base/result.hpp"

namespace retrace::solver {

/// What a stranger's file may take.
struct Allowance {
    std::uint64_t file_bytes = 0;     ///< No file that `work` writes becomes longer.
    std::uint64_t wall_seconds = 3600;
    bool sandbox = true;              ///< Off only where the kernel has none (sandbox_is_supported).
};

/// Runs `work` in a child process, in the sandbox (sandbox.hpp), and waits for it. What `work` needs is open before:
/// streams that the caller made. The child's standard streams lead nowhere; what comes back is whether it succeeded,
/// and else one sentence without control characters, which is `work`'s error or says what ended it.
Status<> run_confined(const Allowance& allowance, const std::function<Status<>()>& work);

/// One line for a terminal: of what a stranger's file says only printable ASCII stays, the rest becomes `?`.
std::string plain_line(std::string text);

}  // namespace retrace::solver
