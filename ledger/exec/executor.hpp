// SPDX-License-Identifier: MIT
// The seam between the ledger and the rules: the ledger knows no rule of the market, it calls a TxExecutor that
// `contracts` implements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/state/state.hpp"

namespace retrace::ledger {

/// What a rule may know of the block it runs in.
struct BlockContext {
    std::uint64_t height = 0;
    std::uint64_t time_s = 0;     ///< Block time in seconds, from the block, never from the wall clock.
    std::uint64_t chain_id = 0;
    U256 base_fee;
    Address proposer;             ///< Receives priority fees.
};

struct Log {
    Address address;
    std::vector<Hash32> topics;   ///< At most 4.
    Bytes data;
    bool operator==(const Log&) const = default;
};

/// A call of a native contract after the ledger took nonce and gas: msg.sender, msg.value, calldata.
struct Call {
    Address sender;
    Address to;
    U256 value;
    View data;
    std::uint64_t gas = 0;        ///< Gas left for the rule, intrinsic gas already taken.
};

struct CallResult {
    bool ok = false;
    Bytes output;                 ///< ABI-encoded return value, or revert data (custom error).
    std::uint64_t gas_used = 0;   ///< ≤ Call::gas.
    std::vector<Log> logs;        ///< Empty when !ok.
    std::string revert_reason;    ///< Words for people: "slug: sentence". Empty when ok.
};

class TxExecutor {
public:
    virtual ~TxExecutor() = default;
    /// Whether `address` is a native contract (eth_getCode answers a marker; transfers to it go through `call`).
    virtual bool is_contract(const Address& address) const = 0;
    /// The gas that a call of the contract with this calldata uses, whatever the state is; one that has less uses all
    /// of it. Blocks are filled by it, not by the limits that senders name. SPEC 5.3.7
    virtual std::uint64_t gas_of(const Address& contract, View data) const = 0;
    /// Runs one call. Value was not moved yet: the executor moves it from sender to contract if the rule is payable.
    /// On refusal the state is as before the call (the executor reverts to its mark).
    virtual CallResult call(State& state, const BlockContext& block, const Call& call) const = 0;
    /// A read-only call (eth_call) against any view; default runs `call` on a scratch overlay.
    virtual CallResult view_call(const StateView& view, const BlockContext& block, const Call& call) const = 0;
    /// What happens by itself at the start of every block, before its transactions (deadlines, beacon, draws).
    virtual std::vector<Log> begin_block(State& state, const BlockContext& block) const = 0;
    /// Writes the contracts' genesis records. `config` is the genesis file's "contracts" section as canonical bytes.
    virtual void genesis(State& state, View config) const = 0;
    /// Always-on check after a transaction: the sentence that does not hold. Such a transaction is undone. SPEC 5.3.8
    virtual std::optional<std::string> broken_invariant(const StateView&, const State&) const { return std::nullopt; }
    /// The result of a call that was undone because `what` did not hold.
    virtual CallResult refuse_broken(const Call& call, const std::string& what) const {
        return {false, {}, call.gas, {}, what};
    }
};

}  // namespace retrace::ledger
