// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::solver {

/// The object of a report of unavailability; the contracts use the same numbers.
enum class ReportKind : std::uint8_t { state = 1, program = 2, data = 3, model = 4, kept = 5, message = 6 };

}  // namespace retrace::solver
