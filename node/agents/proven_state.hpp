// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>

#include "ledger/state/view.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

/// A block whose state root is known to be right.
struct ProvenRoot {
    std::uint64_t height = 0;
    Hash32 root;
};
/// The bytes of a leaf of the state, empty for one that is absent, with a proof that the node cannot forge.
Result<Bytes, RpcFailure> proven_account(RpcClient& client, const ProvenRoot& at, const ledger::Address& address);
Result<Bytes, RpcFailure> proven_slot(RpcClient& client, const ProvenRoot& at, const ledger::Address& contract,
                                      View key);

/// Like RemoteState, but the node is not trusted: every slot comes with a proof under the state root of one block,
/// which the node cannot forge. The caller must know that the root is right.
class ProvenState final : public ledger::StateView {
public:
    /// `client` outlives the view.
    ProvenState(RpcClient& client, std::uint64_t height, const Hash32& state_root)
        : client_(client), height_(height), root_(state_root) {}

    std::uint64_t height() const noexcept { return height_; }
    std::uint64_t proofs() const noexcept { return proofs_; }  ///< Number of proofs checked.
    /// The first read without a valid proof; later reads return empty values.
    const std::optional<std::string>& failure() const noexcept { return failure_; }

    ledger::Account account(const ledger::Address& address) const override;
    Bytes slot(const ledger::Address& contract, View key) const override;

private:
    template <class Ask>
    Bytes proven(const Hash32& leaf_key, const Ask& ask) const;

    RpcClient& client_;
    std::uint64_t height_;
    Hash32 root_;
    mutable std::map<Hash32, Bytes> leaves_;
    mutable std::uint64_t proofs_ = 0;
    mutable std::optional<std::string> failure_;
};

/// Returns the state root in a block's header as the node reports it, unproven.
Result<Hash32> state_root_at(RpcClient& client, std::uint64_t height);

}  // namespace retrace::node
