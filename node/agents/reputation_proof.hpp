// SPDX-License-Identifier: MIT
// The record of a solver in a file that proves it to another chain or site: no node is asked to check it.
//
// The file is in the canonical codec (merkle 2): the text "retrace/reputation/1"; the account, 20 bytes; the number of
// blocks of CometBFT and these (light_codec), by ascending height; the ledger's header (ledger 4); the proofs of two
// slots (ledger 5.5): the record of the solver and its standing.
#pragma once

#include <optional>

#include "contracts/records/standing.hpp"
#include "ledger/block/block.hpp"
#include "ledger/chain/state_proof.hpp"
#include "node/light/light_client.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

struct ReputationProof {
    ledger::Address solver;
    /// From the trusted block to the one above the header's height, whose app hash is the header's. Empty for a chain
    /// without CometBFT: the header itself is then the one that is trusted.
    std::vector<light::LightBlock> blocks;
    ledger::Header header;
    ledger::StateProof record, standing;
};
/// A proof of blocks of a hundred validators each, as many as a light client looks at.
inline constexpr std::size_t kReputationProofMax = 8U << 20;

Bytes encode(const ReputationProof& proof);
/// Errors: the bytes are not one proof, or more than kReputationProofMax.
Result<ReputationProof> decode_reputation_proof(View bytes);

struct ProvenReputation {
    ledger::Address solver;
    std::string chain;                         ///< CometBFT's name of the chain; empty without CometBFT.
    std::uint64_t height = 0, time_s = 0;      ///< Of the block whose state is proved; seconds since 1970.
    std::optional<market::SolverInfo> record;  ///< None: it never registered.
    market::Standing standing;                 ///< As it weighs at `height`.
};
/// Makes a proof at the newest block that can be proved from `trusted`, or without it at the newest block, whose hash
/// a reader then has to trust. The node is not believed: what is returned passes verify_reputation.
Result<ReputationProof> prove_reputation(RpcClient& client, const std::optional<light::TrustedBlock>& trusted,
                                         const ledger::Address& solver);
/// Checks a proof from a block that the reader trusts: of CometBFT, the lowest one in the proof; without CometBFT, the
/// ledger's block. Errors name what does not hold.
Result<ProvenReputation> verify_reputation(const ReputationProof& proof, const light::TrustedBlock& trusted);

}  // namespace retrace::node
