// SPDX-License-Identifier: MIT
// Signs and sends the calls of one account, and follows them until they are in a block.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contracts/calls/encode.hpp"
#include "ledger/tx/transaction.hpp"
#include "node/client/rpc_client.hpp"

namespace retrace::node {

struct Finished {
    std::string what;  ///< As given to `send`.
    TxOutcome outcome;
};

/// Blocks; not thread-safe. One process at a time sends for an account.
class Submitter {
public:
    /// Both outlive the submitter.
    Submitter(RpcClient& client, const ledger::SecretKey& key, std::uint64_t chain_id)
        : client_(client), key_(key), address_(key.address()), chain_id_(chain_id) {}

    const ledger::Address& address() const noexcept { return address_; }

    /// Signs and sends a call. One that the rules would refuse now is not sent and costs nothing: the error
    /// is the refusal, "slug: sentence". Gas is the node's estimate and a fifth more.
    Result<Hash32> send(std::string what, const ledger::Address& to, const ledger::U256& value, Bytes data);
    template <class Call>
    Result<Hash32> send(std::string what, const Call& call, const ledger::U256& value = {}) {
        return send(std::move(what), contracts::address_of(Call::kContract), value,
                    contracts::calldata(call));
    }
    /// Without asking the node first: the call may be included and refused. For frauds on developer chains.
    template <class Call>
    Result<Hash32> send_unchecked(std::string what, const Call& call, std::uint64_t gas) {
        return send_with(std::move(what), contracts::address_of(Call::kContract), {}, contracts::calldata(call), gas);
    }
    /// As send, and waits until it is in a block; an error also when it reverted.
    template <class Call>
    Result<TxOutcome> execute(std::string what, const Call& call, const ledger::U256& value = {}) {
        RETRACE_TRY(hash, send(std::move(what), call, value));
        return wait(hash);
    }
    /// One that the node forgot (it was killed before the block) is sent to it again.
    Result<TxOutcome> wait(const Hash32& tx, std::chrono::seconds patience = std::chrono::seconds(60));

    /// Transactions that ended since the last call. One that the node forgot is dropped: the agent repeats
    /// it.
    std::vector<Finished> poll();

private:
    struct Pending {
        std::string what;
        Hash32 hash;
        Bytes raw;
    };
    Result<Hash32> send_with(std::string what, const ledger::Address& to, const ledger::U256& value, Bytes data,
                             std::uint64_t gas);
    RpcClient& client_;
    const ledger::SecretKey& key_;
    ledger::Address address_;
    std::uint64_t chain_id_;
    std::vector<Pending> pending_;
};

}  // namespace retrace::node
