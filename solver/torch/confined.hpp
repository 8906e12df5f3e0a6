// SPDX-License-Identifier: MIT
// Runs code that reads a stranger's file in a confined child process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "merkle/base/result.hpp"

namespace retrace::solver {

/// Resource limits for reading a stranger's file.
struct Allowance {
    std::uint64_t file_bytes = 0;  ///< Longest file that `work` may write.
    std::uint64_t wall_seconds = 3600;
    bool sandbox = true;  ///< Off only where the kernel has none (sandbox_is_supported).
};

/// Runs `work` in a sandboxed child process (sandbox.hpp) and waits for it. The caller must open the streams that
/// `work` needs before the call. The child's standard streams are /dev/null. Returns success or one sentence without
/// control characters: the error of `work`, or how the child ended.
Status<> run_confined(const Allowance& allowance, const std::function<Status<>()>& work);

/// Makes untrusted text safe for a terminal: all bytes but printable ASCII become `?`.
std::string plain_line(std::string text);

}  // namespace retrace::solver
