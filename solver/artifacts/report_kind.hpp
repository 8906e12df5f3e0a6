// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::solver {

/// The object of a report of unavailability; the contracts use the same numbers.
enum class ReportKind : std::uint8_t { state = 1, program = 2, data = 3, model = 4, kept = 5, message = 6 };

/// The index in reports about the message that a run sent in a round.
inline constexpr std::uint64_t kRunsOfReport = 65'536;
constexpr std::uint64_t message_index(std::uint32_t round, std::uint32_t run) { return round * kRunsOfReport + run; }

}  // namespace retrace::solver
