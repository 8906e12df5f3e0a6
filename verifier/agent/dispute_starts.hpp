// SPDX-License-Identifier: MIT
// The states from which a verifier replays the segments that it disputes.
#pragma once

#include <map>
#include <vector>

#include "verifier/agent/agent_context.hpp"
#include "verifier/agent/segment_replays.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

class DisputeStarts {
public:
    /// `context` and `replays` outlive the object.
    DisputeStarts(AgentContext& context, SegmentReplays& replays) : context_(context), replays_(replays) {}
    DisputeStarts(const DisputeStarts&) = delete;
    DisputeStarts& operator=(const DisputeStarts&) = delete;

    /// Returns the state at the start of the view's segment. Worker thread.
    Result<kernels::State> state_of(const DisputeView& view);
    /// Reports the data that was not served for open disputes.
    void report_missing(const std::vector<DisputeView>& disputes, std::vector<VerifierMove>& moves);

private:
    AgentContext& context_;
    SegmentReplays& replays_;
    // Dispute → data that was not served. A running order writes it.
    std::map<std::uint64_t, solver::Unavailable> missing_;
};

}  // namespace retrace::verifier
