// SPDX-License-Identifier: MIT
// The interface between the ledger and the rules: the ledger knows no rule of the market and calls a TxExecutor, which
// `contracts` implements.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ledger/exec/validator.hpp"
#include "ledger/state/state.hpp"

namespace retrace::ledger {

/// The information about the current block that rules may use.
struct BlockContext {
    std::uint64_t height = 0;
    std::uint64_t time_s = 0;  ///< Block time in seconds, taken from the block, never from the wall clock.
    std::uint64_t chain_id = 0;
    U256 base_fee;
    Address proposer;  ///< Receives priority fees.
};

struct Log {
    Address address;
    std::vector<Hash32> topics;  ///< At most 4.
    Bytes data;
    bool operator==(const Log&) const = default;
};

/// A call of a native contract after the ledger charged nonce and gas: msg.sender, msg.value, calldata.
struct Call {
    Address sender;
    Address to;
    U256 value;
    View data;
    std::uint64_t gas = 0;  ///< Gas left for the rule, after the intrinsic gas.
};

struct CallResult {
    bool ok = false;
    Bytes output;                ///< ABI-encoded return value, or revert data (custom error).
    std::uint64_t gas_used = 0;  ///< ≤ Call::gas.
    std::vector<Log> logs;       ///< Empty when !ok.
    std::string revert_reason;   ///< Text for people: "slug: sentence". Empty when ok.
    bool is_free = false;        ///< Its transaction does not pay the base fee (SPEC 5.3.10). False when !ok.
};

class TxExecutor {
public:
    virtual ~TxExecutor() = default;
    /// Whether `address` is a native contract (eth_getCode answers a marker; transfers to it go through `call`).
    virtual bool is_contract(const Address& address) const = 0;
    /// The gas that a call of the contract with this calldata uses, independent of the state; a call that has less gas
    /// uses all of it. Blocks are filled by this amount, not by the gas limits of the senders. SPEC 5.3.7
    virtual std::uint64_t gas_of(const Address& contract, View data) const = 0;
    /// Whether the rules wait for this call in the block of that height and would accept it, so that calls which only
    /// pay more must not keep it out of a block. SPEC 7.4.1
    virtual bool is_awaited(const StateView&, std::uint64_t /*height*/, const Call&) const { return false; }
    /// Runs one call. The value was not moved yet: the executor moves it from sender to contract if the rule is
    /// payable.
    /// On refusal the state is as before the call (the executor reverts to its mark).
    virtual CallResult call(State& state, const BlockContext& block, const Call& call) const = 0;
    /// A read-only call (eth_call) against any view.
    virtual CallResult view_call(const StateView& view, const BlockContext& block, const Call& call) const = 0;
    /// Runs the automatic work at the start of every block, before its transactions (deadlines, beacon, draws).
    virtual std::vector<Log> begin_block(State& state, const BlockContext& block) const = 0;
    /// Takes note of what the engine reports about the block, before `begin_block`. The report is not empty.
    virtual std::vector<Log> engine_report(State&, const BlockContext&, const EngineReport&) const { return {}; }
    /// The validators that decide the blocks after the next one, in order of their accounts; none when the engine
    /// does not ask the rules.
    virtual std::vector<Validator> validators(const StateView&) const { return {}; }
    /// The validator whose key has this address, in the set or not; its power is 0. Keys are never forgotten.
    virtual std::optional<Validator> validator_of(const StateView&, const ConsensusAddress&) const {
        return std::nullopt;
    }
    /// Why this program cannot execute the block of that height: it has not the version of the rules that was decided.
    virtual std::optional<std::string> missing_rules(const StateView&, std::uint64_t /*height*/) const {
        return std::nullopt;
    }
    /// Input of the VRF whose proof validators add to their votes for the block of that height; nullopt: they add
    /// nothing.
    virtual std::optional<Bytes> share_input(std::uint64_t /*chain_id*/, std::uint64_t /*height*/) const {
        return std::nullopt;
    }
    /// Whether the block of that height brings the shares of the votes for the block before it.
    virtual bool takes_shares(const StateView&, std::uint64_t /*height*/) const { return false; }
    /// Writes the contracts' genesis records. `config` is the genesis file's "contracts" section as canonical bytes.
    virtual void genesis(State& state, View config) const = 0;
    /// Writes the validators of the genesis, after `genesis`. `rules` is Genesis::validator_rules.
    virtual void genesis_validators(State&, std::span<const Validator>, View /*rules*/) const {}
    /// Always-on check after a transaction: returns a sentence about a broken invariant, if any. The ledger then undoes
    /// the transaction. SPEC 5.3.8
    virtual std::optional<std::string> broken_invariant(const StateView&, const State&) const { return std::nullopt; }
    /// The result of a call that was undone because the invariant `what` did not hold.
    virtual CallResult refuse_broken(const Call& call, const std::string& what) const {
        return {false, {}, call.gas, {}, what};
    }
};

}  // namespace retrace::ledger
