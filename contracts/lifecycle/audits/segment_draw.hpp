// SPDX-License-Identifier: MIT
// The draw that decides whether a segment is audited. SPEC 14.1.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Makes the segment wait for its draw with the beacon of the next epoch, and counts it among the run's pending draws.
void await_draw(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index, market::Segment& segment);
/// 21.8: gives an audit, with that beacon, to a segment that was not drawn.
void await_audit(Effects& fx, const market::Run& run, std::uint64_t index);
/// Decides, with the reveals of the epoch that the draw was due for (11.6), whether a segment is audited.
void draw_segment(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);

}  // namespace retrace::contracts
