// SPDX-License-Identifier: MIT
// The verifier agent: composes the agents that audit, watch, keep states, reveal beacon values and play disputes. It is
// a state machine like solver::SolverAgent; its persistent data is on the chain, in its secret and in its store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "verifier/agent/agent_context.hpp"
#include "verifier/agent/agent_order.hpp"
#include "verifier/agent/audit_agent.hpp"
#include "verifier/agent/beacon_agent.hpp"
#include "verifier/agent/dispute_agent.hpp"
#include "verifier/agent/dispute_starts.hpp"
#include "verifier/agent/retention_agent.hpp"
#include "verifier/agent/segment_replays.hpp"
#include "verifier/agent/watch_agent.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

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

    /// Whether the agent would replay the segment voluntarily. False for a segment that it replayed and found right.
    bool watches(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const {
        return watch_.watches(task, run, segment);
    }
    BeaconAgent& beacon() noexcept { return beacon_; }

private:
    /// Work that the ledger requires and that waits for the worker, except moves in disputes.
    struct AnyDuty {
        std::uint64_t place = 0;
        std::variant<const KeptReportView*, const AuditView*, const InitialView*> item;
    };
    std::optional<AnyDuty> first_duty(const VerifierView& view) const;
    VerifierWork order_for(const VerifierView& view, const AnyDuty& duty);
    /// Chooses work that the ledger did not assign.
    std::optional<VerifierWork> voluntary_work(const VerifierView& view);
    /// Remembers when the order's result is no longer needed.
    template <class Done>
    VerifierWork hand_out(AgentOrder<Done> order);
    /// Deletes data that no agent needs any more. Called while no order runs.
    void clean_up(const VerifierView& view);

    AgentContext context_;
    SegmentReplays replays_{context_};
    AuditAgent audits_{context_, replays_};
    WatchAgent watch_{context_, replays_};
    RetentionAgent retention_{context_};
    BeaconAgent beacon_{context_};
    DisputeStarts dispute_starts_{context_, replays_};
    DisputeReplays dispute_replays_;
    DisputeAgent disputes_;
    std::function<bool(const VerifierView&)> wanted_;  // Whether a view still needs the running order; empty: it does.
};

}  // namespace retrace::verifier
