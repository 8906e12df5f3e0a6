// SPDX-License-Identifier: MIT
// What the page of an agent is told, as JSON. Amounts are wei as quantities of JSON-RPC ("0x1f").
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "node/agents/agent_board.hpp"
#include "node/cmd/machine/machine_facts.hpp"
#include "node/platform/log_tail.hpp"

namespace retrace::node::machine {

struct AgentIdentity {
    std::string role;
    std::string node_url;  ///< Only its part before "#" is told: behind it may be a file's name.
};

/// {"role", "node", "address", "endpoint", "height", "draining", "work", "duties", "waiting", "choices",
/// "problems", "pending_calls", "fees_since_start", "ledger"}; lists have at most a hundred entries, the first of each.
boost::json::object state_json(const AgentIdentity& agent, const AgentStatus& status, const LedgerFacts& facts);

/// {"first", "lines"}
boost::json::object log_json(const LogTail::Page& page);

}  // namespace retrace::node::machine
