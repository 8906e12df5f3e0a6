// SPDX-License-Identifier: MIT
// Files that claim to prove a solver's record. One that decodes has one encoding; one that is believed shows the record
// of the block that is trusted.
#include "node/agents/reputation_proof.hpp"

#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;

constexpr std::uint64_t kHeight = 70;

/// A proof of a state with one leaf, under a header that is trusted by its own hash; with blocks of CometBFT that nobody
/// signed, if `with_blocks`.
ReputationProof proof_of(bool with_blocks) {
    ReputationProof out;
    out.solver.bytes.fill(7);
    const auto key = contracts::keys::standing(out.solver);
    const auto other = contracts::keys::solver(out.solver);
    out.header.height = kHeight;
    out.standing.height = out.record.height = kHeight;
    out.standing.leaf_key = ledger::slot_leaf_key(address_of(key.contract), key.bytes);
    out.record.leaf_key = ledger::slot_leaf_key(address_of(other.contract), other.bytes);
    if (!with_blocks) return out;
    for (std::int64_t height : {kHeight - 2, kHeight + 1}) {
        light::LightBlock block;
        block.header.chain_id = "retrace-7298-fuzz";
        block.header.height = block.commit.height = height;
        block.header.app_hash = Bytes(32, 1);
        block.commit.votes.push_back({light::kForBlock, Bytes(20, 2), {1'795'896'100, 5}, Bytes(64, 3)});
        block.commit.votes.push_back({});
        block.validators = {{Hash32{{4}}, 10}, {Hash32{{5}}, 20}};
        out.blocks.push_back(block);
    }
    return out;
}

}  // namespace

std::vector<Bytes> seeds() { return {encode(proof_of(false)), encode(proof_of(true))}; }

void run(View input) {
    const auto proof = decode_reputation_proof(input);
    if (!proof) {
        require(!proof.error().message.empty(), "a refusal says why");
        return;
    }
    require(equal(encode(*proof), input), "a proof has one encoding");
    static const ReputationProof good = proof_of(false);
    static const light::TrustedBlock trusted{kHeight, to_hex(view(block_hash(good.header)))};
    const auto checked = verify_reputation(*proof, trusted);
    if (!checked) {
        require(!checked.error().message.empty(), "a refusal says why");
        return;
    }
    require(proof->blocks.empty(), "blocks that nobody signed prove nothing");
    require(block_hash(proof->header) == block_hash(good.header), "only the trusted block is believed");
    require(checked->height == kHeight && !checked->record && checked->standing.verified.is_zero(),
            "an empty state proves no record");
}

}  // namespace retrace::fuzz
