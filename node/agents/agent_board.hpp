// SPDX-License-Identifier: MIT
// What an agent tells its operator about itself: the loop writes it after each block, the agent's page reads it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "node/agents/earnings.hpp"
#include "node/agents/reserved_time.hpp"
#include "solver/agent/agent.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::node {

/// Something that an agent owes to the chain, or waits for.
struct Duty {
    std::string what;        ///< "checkpoint 4 of 9"
    std::uint64_t task = 0;  ///< 0: none.
    std::uint64_t due = 0;   ///< Last block in which it is accepted; 0: nothing is due.
    bool operator==(const Duty&) const = default;
};

/// The duties that follow from a view, the one that is due first on top, those without a deadline last.
std::vector<Duty> duties_of(const solver::SolverView& view, const std::vector<verifier::DisputeView>& disputes,
                            const std::vector<ReservedTask>& reserved);
std::vector<Duty> duties_of(const verifier::VerifierView& view);

struct AgentStatus {
    std::string address;            ///< With its checksum; empty until the agent has opened.
    std::string endpoint;           ///< At which it serves artifacts.
    std::uint64_t height = 0;       ///< Of the view from which the rest follows; 0: it has seen none.
    std::vector<std::string> work;  ///< Work orders, the running one first.
    std::vector<Duty> duties;
    std::vector<solver::FailedWork> waiting;  ///< Work that failed and will be tried again.
    std::string choices;                      ///< A solver's last choices as choices_json writes them,
    std::string earlier;                      ///< those before as earlier_json writes them,
    std::string reserved;                     ///< and its reserved time as reserved_json writes it.
    Earnings since_start;
    std::uint64_t problems = 0, pending_calls = 0;
    bool draining = false;
};

/// Thread-safe. Both sides copy under a lock, so a slow reader does not delay the agent.
class AgentBoard {
public:
    void set(AgentStatus status);
    AgentStatus get() const;

private:
    mutable std::mutex mutex_;  // guards status_
    AgentStatus status_;
};

}  // namespace retrace::node
