// SPDX-License-Identifier: MIT
// Reports of tiles that are not served. SPEC 16.
#pragma once

#include "contracts/effects.hpp"

namespace retrace::contracts {

/// The answer is late: the solver loses its run, the reporter gets its fee back.
void report_deadline(Effects& fx, std::uint64_t report);
/// Closes a report: the fee goes to the solver when it answered, else back.
void close_report(Effects& fx, std::uint64_t report, bool answered);
/// The run is over: its reports fail.
void close_reports(Effects& fx, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
