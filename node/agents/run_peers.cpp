// SPDX-License-Identifier: MIT
#include "node/agents/run_peers.hpp"

#include <algorithm>

#include "contracts/records/views.hpp"
#include "node/net/http_client.hpp"

namespace retrace::node {
namespace {

constexpr std::uint32_t kRunsTried = 64;

namespace views = contracts::views;

/// Adds an endpoint that a stranger may give (parse_public_url), once.
void add_endpoint(const std::string& endpoint, std::vector<std::string>& out) {
    if (std::find(out.begin(), out.end(), endpoint) == out.end() && parse_public_url(endpoint)) out.push_back(endpoint);
}

void add_solver(const ledger::StateView& view, const ledger::Address& solver, std::vector<std::string>& out) {
    if (const auto info = views::solver(view, solver)) add_endpoint(info->endpoint, out);
}

void add_verifier(const ledger::StateView& view, const ledger::Address& verifier, std::vector<std::string>& out) {
    if (const auto info = views::verifier(view, verifier)) add_endpoint(info->endpoint, out);
}

}  // namespace

void RunPeers::add(const ledger::StateView& view, const solver::RunKey& key) {
    const auto [task_id, index] = key;
    const auto [at, is_new] = runs_.try_emplace(key);
    const auto task = is_new ? views::task(view, task_id) : std::nullopt;
    const auto run = task ? views::run(view, task_id, index) : std::nullopt;
    if (!run) return;
    std::vector<std::string>& out = at->second;
    add_solver(view, run->solver, out);
    // An earlier run made the state from which this one starts; its keepers serve it.
    for (std::uint32_t earlier = run->first_state == 0 ? 0 : index; earlier-- > 0;) {
        const auto made = views::checkpoint(view, task_id, earlier, run->first_state);
        if (!made || made->root != run->first_root) continue;
        for (const ledger::Address& keeper : made->keepers) add_verifier(view, keeper, out);
        if (const auto maker = views::run(view, task_id, earlier)) add_solver(view, maker->solver, out);
    }
    for (const std::uint32_t other : task->active)
        if (const auto replica = views::run(view, task_id, other)) add_solver(view, replica->solver, out);
}

void RunPeers::add_authors(const ledger::StateView& view, const std::set<solver::RunKey>& runs) {
    for (const solver::RunKey& key : runs) {
        const auto [at, is_new] = runs_.try_emplace(key);
        const auto run = is_new ? views::run(view, key.first, key.second) : std::nullopt;
        if (run) add_solver(view, run->solver, at->second);
    }
}

void RunPeers::add_verifiers(const ledger::StateView& view) {
    for (const ledger::Address& member : views::verifiers(view)) add_verifier(view, member, verifiers_);
}

PeerList RunPeers::of(const solver::RunKey& key, const std::string& self) const {
    PeerList out;
    std::set<std::string> known{self};
    if (const auto found = runs_.find(key); found != runs_.end()) {
        for (const std::string& endpoint : found->second)
            if (known.insert(endpoint).second) out.first.push_back(endpoint);
    }
    const auto add_others = [&](const std::vector<std::string>& endpoints) {
        for (const std::string& endpoint : endpoints)
            if (known.insert(endpoint).second) out.others.push_back(endpoint);
    };
    add_others(verifiers_);
    for (const auto& [other, endpoints] : runs_) add_others(endpoints);
    return out;
}

std::vector<std::string> endpoints_of(const ledger::StateView& view, std::uint64_t id) {
    std::vector<std::string> out;
    const auto task = views::task(view, id);
    if (!task) return out;
    const auto add_run = [&](std::uint32_t index) {
        if (const auto run = views::run(view, id, index)) add_solver(view, run->solver, out);
    };
    for (const std::uint32_t index : task->active) add_run(index);
    // A settled task has no active run; its last ones delivered the model. A node that is not trusted may show any
    // number of runs.
    const std::uint32_t first = task->runs - std::min(task->runs, kRunsTried);
    for (std::uint32_t index = task->runs; task->active.empty() && index > first && out.size() < 4; --index)
        add_run(index - 1);
    for (const ledger::Address& member : views::verifiers(view)) add_verifier(view, member, out);
    return out;
}

}  // namespace retrace::node
