// SPDX-License-Identifier: MIT
// Challenge windows: until when strangers may challenge the segments of a run. SPEC 13.3, 15.2.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// 15.2.5: the most challenges of strangers that may be open on one segment and on one run,
inline constexpr std::uint32_t kSegmentChallengesMax = 16, kRunChallengesMax = 64;
/// and the number of open disputes of a run beyond which challengers with a seat are refused too. With the disputes
/// that no rule refuses (19) the list of a run stays below kRecordListMax.
inline constexpr std::uint32_t kRunDisputesMax = 2048;
/// Whether challenges of strangers are refused for every segment of the run.
bool refuses_challenges(const market::Run& run);
/// The length in blocks of the challenge window of the task's segments: the chain's own window plus one replay of the
/// segment and, for a seeded task, of the initial state.
std::uint64_t challenge_window(const market::Params& params, const market::TaskSpec& spec);
/// Returns the height from which the segment can no longer be challenged, as things stand; nullopt while an end of the
/// segment is not open or strangers are refused. 15.2.6
std::optional<std::uint64_t> window_end(const StateView& view, const market::Params& params,
                                        const market::TaskSpec& spec, const market::Run& run,
                                        const market::Segment& segment);
/// Extends the segment's challenge window to `end` if it would end earlier; the caller stores the segment.
void extend_window(Effects& fx, std::uint64_t task, std::uint32_t run, market::Segment& segment, std::uint64_t end);
/// Whether a challenge window of the run is open at this height: its last one has not passed, or 15.2.6 keeps windows
/// open because strangers are refused, or were until less than a window ago. The run does not end meanwhile as one that
/// waits for auditors (14.12.5).
bool holds_windows(const StateView& view, const market::Params& params, const market::Run& run, std::uint64_t height);

}  // namespace retrace::contracts
