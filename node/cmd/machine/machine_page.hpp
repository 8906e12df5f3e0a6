// SPDX-License-Identifier: MIT
// The page of a running agent, on a loopback port, for its operator alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "node/agents/agent_board.hpp"
#include "node/cmd/doctor/check.hpp"
#include "node/cmd/machine/machine_facts.hpp"
#include "node/platform/log_tail.hpp"

namespace retrace::node::machine {

struct PageOptions {
    std::filesystem::path data_dir;  ///< The token is written into it: "console-token", mode 0600.
    std::uint16_t port = 0;          ///< 0: any free one.
    std::string role;                ///< "solver" or "verifier".
    std::string node_url;            ///< The node's console is linked from the page.
    std::function<LedgerFacts()> facts;
    std::function<std::vector<doctor::Check>()> self_test;  ///< Takes seconds; runs on a thread of the page.
    std::function<void()> stop;                             ///< Does what SIGTERM does, and returns at once.
    std::shared_ptr<AgentBoard> board;
    std::shared_ptr<LogTail> log;
    std::chrono::seconds self_test_pause{60};  ///< From the end of a self-test to the start of the next.
    std::chrono::seconds read_timeout{10};     ///< For a request's head, a body and the sending of an answer.
    std::size_t connections = 32;              ///< One more replaces one that is idle or slow.
};

class MachinePage {
public:
    /// Makes a new token and listens on 127.0.0.1. Errors name the cause and the remedy.
    static Result<std::unique_ptr<MachinePage>> open(PageOptions options);
    ~MachinePage();

    /// The address with the token behind "#", which browsers send to nobody.
    std::string link() const;

private:
    struct Impl;
    explicit MachinePage(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node::machine
