// SPDX-License-Identifier: MIT
// A verifier's seats in audits: replays the audited segments, commits and reveals verdicts, and reports data that was
// not served.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verifier/agent/agent_context.hpp"
#include "verifier/agent/agent_order.hpp"
#include "verifier/agent/segment_replays.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

/// Result of an audit's replay; the end state is in the store under (task, run, segment + 1).
struct Replayed {
    std::uint64_t audit = 0;
    std::optional<Hash32> root;
    std::string problem;                         ///< Set when there is no root.
    std::optional<solver::Unavailable> missing;  ///< Data that was not served, if that is why.
    bool preempted = false;                      ///< Preempted by more urgent work: neither a root nor a problem yet.
};

class AuditAgent {
public:
    /// `context` and `replays` outlive the agent. Only its work orders use `replays`.
    AuditAgent(AgentContext& context, SegmentReplays& replays) : context_(context), replays_(replays) {}
    AuditAgent(const AuditAgent&) = delete;
    AuditAgent& operator=(const AuditAgent&) = delete;

    void on_view(const VerifierView& view, std::vector<VerifierMove>& moves);

    /// The first seat that waits for a replay, except the one whose replay is running.
    std::optional<Duty<AuditView>> first_duty(const VerifierView& view) const;
    AgentOrder<Replayed> replay_order(const VerifierView& view, const AuditView& seat);
    void on_done(const Replayed& replayed);

    /// Forgets the seats that are not in `view`. Called while no order runs.
    void forget_closed(const VerifierView& view);

private:
    void commit(const AuditView& seat, const Hash32& root, std::vector<VerifierMove>& moves);
    void reveal(const AuditView& seat, const Hash32& root, std::vector<VerifierMove>& moves);
    void report_missing(const AuditView& seat, bool first, std::vector<VerifierMove>& moves);
    /// This party's own root of the segment's end, once it is replayed.
    std::optional<Hash32> own_root(const AuditView& seat) const;
    bool waits_for_replay(const AuditView& seat) const;
    std::uint64_t fetch_by(const VerifierView& view, const AuditView& seat) const;

    Replayed replay(const AuditView& seat);  // Worker thread.

    AgentContext& context_;
    SegmentReplays& replays_;
    std::uint64_t replaying_ = 0;                           // Audit of the running work order; 0: none.
    std::map<std::uint64_t, std::uint64_t> retry_height_;   // Audit → height of the retry after a failed fetch.
    std::map<std::uint64_t, solver::Unavailable> missing_;  // Audit → data that was not served.
};

}  // namespace retrace::verifier
