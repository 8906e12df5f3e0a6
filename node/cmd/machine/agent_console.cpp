// SPDX-License-Identifier: MIT
#include "node/cmd/machine/agent_console.hpp"

#include "node/cmd/doctor/probe.hpp"

namespace retrace::node::machine {

Result<std::unique_ptr<AgentConsole>> AgentConsole::open(const ConsoleOptions& options, AgentOptions& agent) {
    agent.board = std::make_shared<AgentBoard>();
    std::unique_ptr<AgentConsole> console(new AgentConsole(agent, options.account));
    PageOptions page;
    page.data_dir = agent.data_dir;
    page.port = options.port;
    page.role = options.role;
    page.node_url = agent.node_url;
    page.facts = [facts = &console->facts_] { return facts->get(); };
    doctor::Question question = doctor::question_of(agent, options.wants_gpu);
    question.agent_runs = true;
    page.self_test = [question, board = agent.board] {
        doctor::Question now = question;
        if (const std::string endpoint = board->get().endpoint; !endpoint.empty()) now.endpoint = endpoint;
        return doctor::examine(now);
    };
    page.stop = options.stop;
    page.board = agent.board;
    page.log = options.log;
    RETRACE_TRY(opened, MachinePage::open(std::move(page)));
    console->page_ = std::move(opened);
    return console;
}

}  // namespace retrace::node::machine
