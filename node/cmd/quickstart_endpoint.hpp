// SPDX-License-Identifier: MIT
// Where others reach an agent whose operator names no endpoint.
#pragma once

#include <optional>

#include "node/agents/agent_process.hpp"
#include "node/cmd/doctor/probe.hpp"

namespace retrace::node::cli {

/// Lets other machines reach an agent whose node is on another one: it listens on all addresses, and its endpoint is the
/// address that the node sees, or the one of an earlier start if the node does not say. Returns what the node
/// found; nullopt: nothing was changed, or the node did not say.
Result<std::optional<doctor::Reachability>> take_endpoint(AgentOptions& options);
/// The same without a test of the machine, for an agent that is started by hand: waits for the node as the agent does, and
/// an Error with the remedy if the node does not reach this machine. One that was reached at an earlier start goes on,
/// because its stake may answer for work that is not over.
Status<> take_reached_endpoint(AgentOptions& options);

}  // namespace retrace::node::cli
