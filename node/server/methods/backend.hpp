// SPDX-License-Identifier: MIT
// What the methods work on, and the questions that most of them ask.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ledger/chain/chain.hpp"
#include "ledger/chain/execute.hpp"
#include "ledger/mempool/mempool.hpp"
#include "node/server/engine/application.hpp"
#include "node/server/engine/engine.hpp"
#include "node/server/jsonrpc/params.hpp"

namespace retrace::node::rpc {

class FilterStore;
struct Caller;

/// In the smallest unit per gas. While blocks are not full any tip is taken; this one is small change.
inline constexpr std::uint64_t kSuggestedTip = 100'000'000;

/// A native contract as `retrace_contracts` lists it.
struct ContractInfo {
    std::string name;
    ledger::Address address;
    std::string abi;  ///< JSON array.
};

/// All references outlive the server.
struct Backend {
    ledger::Chain& chain;
    ledger::Mempool& pool;
    LedgerApplication& application;
    const engine::Engine& engine;
    FilterStore& filters;
    std::string version;  ///< "0.1.0"
    std::vector<ContractInfo> contracts;
    ledger::U256 suggested_tip{kSuggestedTip};

    std::uint64_t chain_id() const { return chain.genesis().chain_id; }
    std::uint64_t gas_limit() const { return chain.genesis().gas_limit; }
};

/// Height of the block; nullopt when there is none. `pending` is the last committed block: finality is
/// instant, and what will be in the next block nobody knows before it is decided.
std::optional<std::uint64_t> height_of(const Backend& backend, const BlockRef& ref);

struct StateAt {
    std::uint64_t height = 0;
    std::shared_ptr<const ledger::StateView> view;
};
/// "header not found" for an unknown block; a sentence for a state that is no longer kept. Read at the
/// expense of `caller`, which outlives it: a handler that reads on and on ends with its budget, and one whose
/// state is forgotten meanwhile ends with that sentence (metered_view.hpp).
Checked<StateAt> state_at(const Backend& backend, Caller& caller, const BlockRef& ref);
/// Fails for a block that was there and is not kept: an empty or partial answer would be a wrong one.
Status<RpcError> check_kept(const Backend& backend, std::uint64_t height);
/// That failure.
Unexpected<RpcError> block_not_kept(const Backend& backend, std::uint64_t height);
/// "header not found" for an unknown block.
Checked<std::uint64_t> known_height(const Backend& backend, const BlockRef& ref);

}  // namespace retrace::node::rpc
