// SPDX-License-Identifier: MIT
// The log in which a block keeps what its engine reported, so that the block can be executed again. SPEC 5.3.9.
#pragma once

#include <span>

#include "ledger/exec/executor.hpp"
#include "merkle/base/codec.hpp"

namespace retrace::ledger {

/// A log of the ledger's own address with the encoded report. The report is not empty.
Log report_log(const EngineReport& report);
/// Returns the report of a block with these system logs; the empty report if their first one holds none. Fails when
/// that one is the ledger's and does not decode.
Result<EngineReport, CodecError> read_report(std::span<const Log> system_logs);

}  // namespace retrace::ledger
