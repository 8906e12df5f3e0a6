// SPDX-License-Identifier: MIT
// The objects that the methods work on, and lookups that most of them use.
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

class AuctionIndex;
class FilterStore;
struct Caller;

/// In the smallest unit per gas. While blocks are not full any tip is accepted, so a negligible one is suggested.
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
    const AuctionIndex& auctions;
    std::string version;  ///< "0.1.0"
    std::vector<ContractInfo> contracts;
    ledger::U256 suggested_tip{kSuggestedTip};

    std::uint64_t chain_id() const { return chain.genesis().chain_id; }
    std::uint64_t gas_limit() const { return chain.genesis().gas_limit; }
};

/// Height of the block; nullopt if there is none. `pending` is the last committed block: finality is instant, and the
/// content of the next block is unknown until it is decided.
std::optional<std::uint64_t> height_of(const Backend& backend, const BlockRef& ref);

struct StateAt {
    std::uint64_t height = 0;
    std::shared_ptr<const ledger::StateView> view;
};
/// The state after a block: "header not found" for an unknown block, another error for a state that is no longer kept.
/// Reads are charged to `caller`, which outlives the view. A handler is aborted when its budget is used up or the state
/// is pruned meanwhile (metered_view.hpp).
Checked<StateAt> state_at(const Backend& backend, Caller& caller, const BlockRef& ref);
/// Fails for a block that was pruned, because an empty or partial answer would be wrong.
Status<RpcError> check_kept(const Backend& backend, std::uint64_t height);
/// The error of `check_kept`.
Unexpected<RpcError> block_not_kept(const Backend& backend, std::uint64_t height);
/// Height of the block; "header not found" for an unknown block.
Checked<std::uint64_t> known_height(const Backend& backend, const BlockRef& ref);

}  // namespace retrace::node::rpc
