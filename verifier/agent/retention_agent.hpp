// SPDX-License-Identifier: MIT
// Keeps states for a verifier: those that it found right and those that solvers pay for. It attests them and answers
// reports about them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verifier/agent/agent_context.hpp"
#include "verifier/agent/agent_order.hpp"
#include "verifier/agent/failed_work.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

/// Result of fetching an offered state into the store; `problem` is empty on success.
struct Held {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::string problem;
    bool preempted = false;  ///< Preempted by more urgent work: it is retried later.
};
/// Answer to a report on the ledger: the requested tile of a kept state.
struct KeptAnswer {
    std::uint64_t report = 0;
    Bytes answer;  ///< Empty if it could not be made.
    std::string problem;
    bool preempted = false;               ///< As in Held.
    std::vector<KeptAnswer> others = {};  ///< Answers about the same state, made in the same work order.
};

class RetentionAgent {
public:
    /// `context` outlives the agent.
    explicit RetentionAgent(AgentContext& context) : context_(context), failed_(context) {}
    RetentionAgent(const RetentionAgent&) = delete;
    RetentionAgent& operator=(const RetentionAgent&) = delete;

    /// Attests only states that this party can really serve.
    void attest(const VerifierView& view, std::vector<VerifierMove>& moves);
    /// Sends the answers that are made. Called with each view.
    void answer_reports(const std::vector<KeptReportView>& reports, std::vector<VerifierMove>& moves);

    /// The first report that waits for an answer.
    std::optional<Duty<KeptReportView>> first_duty(const VerifierView& view) const;
    /// Answers all waiting reports about one state in one order: the state is loaded once, even if no memory is to
    /// spare.
    AgentOrder<KeptAnswer> answer_order(const VerifierView& view, const KeptReportView& report);
    /// Fetches an offered state that is not here.
    std::optional<AgentOrder<Held>> keep_order(const VerifierView& view);
    void on_done(const KeptAnswer& made);
    void on_done(const Held& held);

private:
    bool waits_for_answer(const KeptReportView& report) const;
    void take_answer(const KeptAnswer& made);

    // Worker thread.
    KeptAnswer answer_kept(const KeptReportView& view);
    Held hold(const OfferView& view);

    AgentContext& context_;
    FailedWork failed_;
    std::map<std::uint64_t, Bytes> answers_;  // Keyed by report.
};

}  // namespace retrace::verifier
