// SPDX-License-Identifier: MIT
// The peers from which an agent fetches the artifacts of a run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ledger/state/view.hpp"
#include "node/artifacts/peers.hpp"
#include "solver/agent/work.hpp"

namespace retrace::node {

/// The endpoints of one view of the chain, by run. Only parties of the run's own task are asked first: other endpoints
/// belong to strangers, who may be silent on purpose, in any number.
class RunPeers {
public:
    /// Adds a run: its solver, the keepers of the state from which it starts, then the other solvers of its task.
    void add(const ledger::StateView& view, const solver::RunKey& run);
    /// Adds the members that sent messages of a group: the solver of each run alone.
    void add_authors(const ledger::StateView& view, const std::set<solver::RunKey>& runs);
    /// Adds the endpoints of all verifiers, which may keep states, as `others` of every run.
    void add_verifiers(const ledger::StateView& view);

    /// Returns whom to ask for the run, without `self`. Endpoints of the other runs are among the others.
    PeerList of(const solver::RunKey& run, const std::string& self) const;

private:
    std::map<solver::RunKey, std::vector<std::string>> runs_;
    std::vector<std::string> verifiers_;
};

/// Returns the endpoints that serve a task's artifacts: its solvers, then verifiers that keep its states. Registered
/// endpoints that a stranger may not give (see parse_public_url) are left out.
std::vector<std::string> endpoints_of(const ledger::StateView& view, std::uint64_t task);

}  // namespace retrace::node
