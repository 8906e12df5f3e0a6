// SPDX-License-Identifier: MIT
// Signs and sends the calls of one account, and follows them until they are in a block.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "contracts/calls/encode.hpp"
#include "ledger/tx/transaction.hpp"
#include "node/agents/chain_reader.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

/// Blocks after which agents send a move again that the chain does not show.
inline constexpr std::uint64_t kResendBlocks = 8;

struct Finished {
    std::string what;   ///< As given to `send`.
    Hash32 sent;        ///< As `send` returned it.
    TxOutcome outcome;  ///< Its hash is that of the included transaction, which may differ from `sent`.
};

/// Blocking. Not thread-safe. Only one process at a time may send for an account.
class Submitter {
public:
    /// Blocks after which the fee of a call that is in no block is raised.
    static constexpr std::uint64_t kFeeBumpBlocks = 3;
    /// Limit on the number of raises of one call's fee.
    static constexpr std::size_t kFeeBumpsMax = 20;
    /// Tip of a call, in wei per unit of gas.
    static constexpr std::uint64_t kTip = 1'000'000'000;

    /// All outlive the submitter. With `chain`, it sends one call after the other: nonces, and the outcomes that `wait`
    /// and `execute` return, are proved if that reader proves. Without, the node is believed in both.
    Submitter(RpcClient& client, const ledger::SecretKey& key, std::uint64_t chain_id, ChainReader* chain = nullptr)
        : client_(client), key_(key), address_(key.address()), chain_id_(chain_id), chain_(chain) {}

    const ledger::Address& address() const noexcept { return address_; }

    /// Signs and sends a call. The gas limit is the node's estimate plus a fifth. A call that the rules would refuse
    /// now is not sent and costs nothing: the error is the refusal, "slug: sentence". A call that was sent and is in no
    /// block yet is not sent again; its hash is returned.
    Result<Hash32> send(std::string what, const ledger::Address& to, const ledger::U256& value, Bytes data);
    template <class Call>
    Result<Hash32> send(std::string what, const Call& call, const ledger::U256& value = {}) {
        return send(std::move(what), contracts::address_of(Call::kContract), value, contracts::calldata(call));
    }
    /// As `send`, without a tip: for a call that is free (contracts 4.5) and comes first without one (ledger 7.4.1). Where
    /// the node refuses it so, the usual tip is paid.
    template <class Call>
    Result<Hash32> send_free(std::string what, const Call& call) {
        return send_at({}, std::move(what), contracts::address_of(Call::kContract), {}, contracts::calldata(call));
    }
    /// Sends without a gas estimate: the call may be included and refused. For frauds on developer chains.
    template <class Call>
    Result<Hash32> send_unchecked(std::string what, const Call& call, std::uint64_t gas) {
        return send_with(kTip, std::move(what), contracts::address_of(Call::kContract), {}, contracts::calldata(call),
                         gas);
    }
    /// Sends and waits until the call is in a block; fails also if it reverted.
    template <class Call>
    Result<TxOutcome> execute(std::string what, const Call& call, const ledger::U256& value = {}) {
        RETRACE_TRY(hash, send(std::move(what), call, value));
        return wait(hash);
    }
    /// Waits until the transaction is in a block. A transaction that the node forgot (it was killed before the block)
    /// is sent to it again.
    Result<TxOutcome> wait(const Hash32& tx, std::chrono::seconds timeout = std::chrono::seconds(60));

    /// Returns the transactions that ended since the last call. One that the node forgot is dropped; the agent repeats
    /// it. One that is in no block after kFeeBumpBlocks blocks is replaced by the same call with the same nonce, with
    /// fees raised by a quarter and at least to what the current base fee asks; the total never exceeds kFeeMost.
    std::vector<Finished> poll();
    /// Calls that are in no block yet.
    std::size_t pending() const noexcept { return pending_.size(); }

private:
    struct Pending {
        std::string what;
        std::vector<Hash32> hashes;          // one for each price, the highest last
        ledger::TxPtr tx;                    // at the last one
        std::optional<std::uint64_t> since;  // height from which it waits at that price; unset before a poll
    };
    Result<Hash32> send_at(const ledger::U256& tip, std::string what, const ledger::Address& to,
                           const ledger::U256& value, Bytes data);
    Result<Hash32> send_with(const ledger::U256& tip, std::string what, const ledger::Address& to,
                             const ledger::U256& value, Bytes data, std::uint64_t gas);
    /// Returns its outcome; nullopt while it waits or when the node does not answer.
    std::optional<TxOutcome> outcome_of(const Pending& item);
    bool forgotten(const Pending& item);
    void bump_fee(Pending& item, std::uint64_t height);
    RpcClient& client_;
    const ledger::SecretKey& key_;
    ledger::Address address_;
    std::uint64_t chain_id_;
    ChainReader* chain_;
    std::vector<Pending> pending_;
};

}  // namespace retrace::node
