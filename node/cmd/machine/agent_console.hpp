// SPDX-License-Identifier: MIT
// Opens the page of an agent beside it: the parts that it reads, and the options that connect the agent to it.
#pragma once

#include "node/agents/agent_process.hpp"
#include "node/cmd/machine/machine_page.hpp"

namespace retrace::node::machine {

struct ConsoleOptions {
    std::uint16_t port = 0;  ///< 0: any free one.
    std::string role;        ///< "solver" or "verifier".
    ledger::Address account;
    bool wants_gpu = false;  ///< For the self-test.
    std::shared_ptr<LogTail> log;
    std::function<void()> stop;  ///< Does what SIGTERM does, and returns at once.
};

/// The page and its readers; it must be destroyed after the agent's service.
class AgentConsole {
public:
    /// Sets `agent.board`, so that the service tells what it does.
    static Result<std::unique_ptr<AgentConsole>> open(const ConsoleOptions& options, AgentOptions& agent);

    std::string link() const { return page_->link(); }

private:
    AgentConsole(const AgentOptions& agent, const ledger::Address& account) : facts_(agent.node_url, account) {}

    FactsReader facts_;
    std::unique_ptr<MachinePage> page_;  // destroyed first: it reads the facts
};

}  // namespace retrace::node::machine
