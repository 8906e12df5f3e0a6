// SPDX-License-Identifier: MIT
// What a client reads of a chain: as its node says, or proved from a block that its user trusts.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ledger/block/block.hpp"
#include "node/agents/remote_state.hpp"
#include "node/light/light_client.hpp"

namespace retrace::node {

class ChainReader {
public:
    /// `client` outlives the reader. Without `trust` the node is believed. With it, every value that is read comes with
    /// a proof under a block that the validators signed, which is one below the node's newest. `wait`: for a proof of
    /// what the node has told.
    explicit ChainReader(RpcClient& client, std::optional<light::TrustedBlock> trust = std::nullopt,
                         std::chrono::seconds wait = std::chrono::seconds(30))
        : client_(client), trust_(std::move(trust)), wait_(wait) {}

    RpcClient& client() const noexcept { return client_; }
    bool proves() const noexcept { return trust_.has_value(); }
    /// Called with a sentence when the newest proved block is older than kOldSeconds: the node may hide newer ones.
    /// Called again only after a block that is not old.
    void on_old_block(std::function<void(const std::string&)> warn) { on_old_ = std::move(warn); }

    /// The newest block that can be read; it never falls.
    Result<std::uint64_t, RpcFailure> height();
    /// The state after a block that `height` has returned, at most kKept blocks ago. Any other is one whose reads fail.
    RemoteState state(std::uint64_t height);
    /// The state after the newest block.
    Result<RemoteState> newest();
    /// The header of the newest block that is proved; nullptr: nothing is.
    const ledger::Header* proven() const noexcept { return headers_.empty() ? nullptr : &headers_.rbegin()->second; }

    /// Of the ledger. If it is proved, then as the validators' headers name it: a signature holds on that chain only.
    Result<std::uint64_t, RpcFailure> chain_id();
    /// The nonce for the account's next transaction. If it is proved, then it counts no transaction that is in no proved
    /// block, because a node could name a later nonce and let a transaction wait which its sender repeats. It waits for
    /// such transactions.
    Result<std::uint64_t, RpcFailure> next_nonce(const ledger::Address& account);
    /// The outcome of a transaction, of which the node has told one. If it is proved, then with the receipts of its
    /// block, for whose proof it waits.
    Result<TxOutcome> outcome(TxOutcome told);

    static constexpr std::size_t kKept = 64;  ///< A node makes proofs for so many blocks.
    static constexpr std::int64_t kOldSeconds = 120;
    static constexpr std::uint64_t kHeadersBack = 1000;  ///< From a proved block to that of an outcome.

private:
    void look_at_age();
    Result<ledger::Header> header_at(std::uint64_t height);

    RpcClient& client_;
    std::optional<light::TrustedBlock> trust_;
    std::chrono::seconds wait_;
    std::optional<light::LightClient> light_;          // made at the first use
    std::uint64_t tip_ = 0;                            // the node's newest block when the newest proof was made
    std::uint64_t chain_id_ = 0;                       // as the newest proved block says
    std::map<std::uint64_t, ledger::Header> headers_;  // of proved blocks
    std::function<void(const std::string&)> on_old_;
    bool told_old_ = false;
    std::shared_ptr<SlotCache> slots_ = std::make_shared<SlotCache>();  // unused by what is proved
};

}  // namespace retrace::node
