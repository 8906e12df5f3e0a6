// SPDX-License-Identifier: MIT
// The verifier agent: audits the segments it is drawn for, plays the resulting disputes, keeps verified states and
// reveals its beacon links. It is a state machine like solver::SolverAgent; its persistent data is on the chain, in its
// secret and in its store.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "verifier/agent/agent_context.hpp"
#include "verifier/agent/beacon_agent.hpp"
#include "verifier/agent/dispute_agent.hpp"
#include "verifier/agent/dispute_starts.hpp"
#include "verifier/agent/retention_agent.hpp"
#include "verifier/agent/segment_replays.hpp"
#include "verifier/agent/watch_agent.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

/// Result of an audit's replay; the end state is in the store under (task, run, segment + 1).
struct Replayed {
    std::uint64_t audit = 0;
    std::optional<Hash32> root;
    std::string problem;                         ///< Set when there is no root.
    std::optional<solver::Unavailable> missing;  ///< Data that was not served, if that is why.
    bool put_off = false;                        ///< Preempted by more urgent work: neither a root nor a problem yet.
};
using VerifierResult = std::variant<Replayed, Answer, InitialChecked, Watched, Held, KeptAnswer>;
using VerifierWork = solver::WorkOrder<VerifierResult>;

/// The interface that node/agents drives. Adversaries wrap an honest implementation.
class Verifier {
public:
    virtual ~Verifier() = default;
    struct Output {
        std::vector<VerifierMove> moves;
        std::optional<VerifierWork> work;  ///< Absent while a work order is running.
    };
    virtual Output on_view(const VerifierView& view) = 0;
    virtual void on_done(const VerifierResult& result) = 0;
    virtual std::vector<std::string> take_problems() = 0;
};

class VerifierAgent final : public Verifier {
public:
    /// `task_cache` and `store` outlive the agent; only work orders use `task_cache`.
    VerifierAgent(VerifierConfig config, solver::TaskCache& task_cache, solver::CheckpointStore& store);

    Output on_view(const VerifierView& view) override;
    void on_done(const VerifierResult& result) override;
    std::vector<std::string> take_problems() override;

    /// Whether the agent would replay the segment unasked. False for a segment that it replayed and found right.
    bool watches(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const {
        return watch_.watches(task, run, segment);
    }

    BeaconAgent& beacon() noexcept { return beacon_; }

private:
    void audit(const AuditView& view, Output& out);
    void reveal(const AuditView& view, const Hash32& root, Output& out);
    /// Work that the ledger requires and that waits for the worker, except moves in disputes.
    struct AnyDuty {
        std::uint64_t place = 0;
        std::variant<const KeptReportView*, const AuditView*, const InitialView*> item;
    };
    std::optional<AnyDuty> first_duty(const VerifierView& view) const;
    VerifierWork order_for(const VerifierView& view, const AnyDuty& duty);
    VerifierWork audit_work(const VerifierView& view, const AuditView& seat);
    bool waits_for_material(const AuditView& view) const;
    std::uint64_t fetch_by(const VerifierView& view, const AuditView& seat) const;
    void report_missing(const AuditView& view, bool first, Output& out);
    std::optional<VerifierWork> unasked_work(const VerifierView& view);
    void clean_up(const VerifierView& view);
    void on_replayed(const Replayed& replayed);
    template <class Done>
    VerifierWork hand_out(AgentOrder<Done> order);
    std::optional<Hash32> own_root(const AuditView& view) const;

    // The following run on the worker thread.
    Replayed replay(const AuditView& view);

    AgentContext context_;
    BeaconAgent beacon_{context_};
    RetentionAgent retention_{context_};
    SegmentReplays replays_{context_};
    WatchAgent watch_{context_, replays_};
    DisputeStarts dispute_starts_{context_, replays_};
    DisputeReplays dispute_replays_;
    DisputeAgent disputes_;
    std::uint64_t replaying_ = 0;  // Audit of the running work order; 0: none.
    std::function<bool(const VerifierView&)> wanted_;  // Whether a view still needs the running order.
    std::map<std::uint64_t, std::uint64_t> retry_height_;   // Audit → height of the retry after a failed fetch.
    std::map<std::uint64_t, solver::Unavailable> missing_;  // Audit → data that was not served.
    using RunKey = std::pair<std::uint64_t, std::uint32_t>;
};

}  // namespace retrace::verifier
