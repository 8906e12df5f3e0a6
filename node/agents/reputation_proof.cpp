// SPDX-License-Identifier: MIT
#include "node/agents/reputation_proof.hpp"

#include <boost/json/object.hpp>
#include <map>

#include "node/light/light_codec.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using contracts::keys::Key;

constexpr std::string_view kFormat = "retrace/reputation/1";
/// The trusted block and those that a light client may look at.
constexpr std::size_t kBlocksMax = light::LightClient::kStepsMax + 2;

Hash32 leaf_of(const Key& key) { return ledger::slot_leaf_key(address_of(key.contract), key.bytes); }

/// The bytes that a member "encoded" of an answer holds.
Result<Bytes> encoded_answer(RpcClient& node, const char* method, json::array params) {
    const auto answer = node.call(method, std::move(params));
    if (!answer) return error(answer.error().message);
    const json::object* const object = answer->if_object();
    const json::value* const encoded = object != nullptr ? object->if_contains("encoded") : nullptr;
    auto bytes = rpc::parse_data(encoded != nullptr ? *encoded : json::value(nullptr));
    if (!bytes) return error(std::string("the node's answer to ") + method + " has another form");
    return std::move(*bytes);
}

Result<ledger::StateProof> told_proof(RpcClient& node, const Key& key, std::uint64_t height) {
    RETRACE_TRY(bytes, encoded_answer(node, "retrace_getProof",
                                      {json::object{{"contract", rpc::data(address_of(key.contract))},
                                                    {"key", rpc::data(View(key.bytes))}},
                                       rpc::quantity(height)}));
    Reader in(bytes);
    ledger::StateProof proof = ledger::decode_state_proof(in);
    if (!in.finish()) return error("the node's proof does not decode");
    return proof;
}

/// Whether the proof is of this leaf under the header's root.
Status<> check_leaf(const ledger::StateProof& proof, const ledger::Header& header, const Key& key, const char* what) {
    if (proof.leaf_key != leaf_of(key)) return error(std::string("the proof of ") + what + " is of another leaf");
    if (proof.state_root != header.state_root || !ledger::verify(proof))
        return error(std::string("the proof of ") + what + " does not hold under the state root of block " +
                     std::to_string(header.height));
    return Unit{};
}

/// The light block above the header, as the validators signed it.
Result<std::string> check_signed(const ReputationProof& proof, const light::TrustedBlock& trusted) {
    std::map<std::uint64_t, light::LightBlock> kept;
    for (const light::LightBlock& block : proof.blocks)
        kept.emplace(static_cast<std::uint64_t>(block.header.height), block);
    const light::BlockSource source = [&](std::uint64_t height) -> Result<light::LightBlock> {
        const auto found = kept.find(height);
        if (found == kept.end())
            return error("the proof has no block " + std::to_string(height) + " of CometBFT; its lowest is " +
                         std::to_string(kept.begin()->first));
        return found->second;
    };
    RETRACE_TRY(light, light::LightClient::start(source, trusted));
    RETRACE_TRY(block, light.verified(proof.header.height + 1));
    if (!equal(view(block_hash(proof.header)), block.header.app_hash))
        return error("the proof's block " + std::to_string(proof.header.height) +
                     " is not the one that the validators signed for");
    return block.header.chain_id;
}

Status<> check_trusted(const ledger::Header& header, const light::TrustedBlock& trusted) {
    const auto hash = from_hex(trusted.hash.starts_with("0x") ? trusted.hash.substr(2) : trusted.hash);
    if (hash && header.height == trusted.height && equal(*hash, view(block_hash(header)))) return Unit{};
    return error("the proof is of block " + std::to_string(header.height) + " with the hash " +
                 to_0x(view(block_hash(header))) + ", and not of the block that is trusted");
}

}  // namespace

Bytes encode(const ReputationProof& proof) {
    Writer out;
    out.text(kFormat);
    ledger::encode_to(out, proof.solver);
    out.u32(static_cast<std::uint32_t>(proof.blocks.size()));
    for (const light::LightBlock& block : proof.blocks) light::encode_to(out, block);
    encode_to(out, proof.header);
    encode_to(out, proof.record);
    encode_to(out, proof.standing);
    return std::move(out).take();
}

Result<ReputationProof> decode_reputation_proof(View bytes) {
    if (bytes.size() > kReputationProofMax)
        return error("a proof of a reputation has at most " + std::to_string(kReputationProofMax >> 20) + " MiB");
    Reader in(bytes);
    if (in.text(kFormat.size()) != kFormat) return error("this is no proof of a reputation");
    ReputationProof out;
    out.solver = ledger::decode_address(in);
    const std::uint32_t blocks = in.count(kBlocksMax);
    for (std::uint32_t i = 0; i < blocks && in.ok(); ++i) {
        out.blocks.push_back(light::decode_light_block(in));
        if (i > 0 && out.blocks[i].header.height <= out.blocks[i - 1].header.height) in.fail(CodecError::not_canonical);
    }
    out.header = ledger::decode_header(in);
    out.record = ledger::decode_state_proof(in);
    out.standing = ledger::decode_state_proof(in);
    if (const auto good = in.finish(); !good)
        return error("the proof of a reputation does not decode: " + std::string(slug(good.error())));
    return out;
}

Result<ReputationProof> prove_reputation(RpcClient& client, const std::optional<light::TrustedBlock>& trusted,
                                         const ledger::Address& solver) {
    ReputationProof out;
    out.solver = solver;
    std::uint64_t height = 0;
    light::TrustedBlock anchor;
    if (trusted) {
        const auto url = parse_url(client.url());
        if (!url) return error(url.error().message);
        std::map<std::int64_t, light::LightBlock> seen;
        const light::BlockSource node = light::node_source(*url);
        const light::BlockSource source = [&](std::uint64_t wanted) {
            auto block = node(wanted);
            if (block) seen.emplace(block->header.height, *block);
            return block;
        };
        RETRACE_TRY(light, light::LightClient::start(source, *trusted));
        RETRACE_TRY(top, light.verified());
        if (top.header.height < 2) return error("the chain has no block that can be proved yet");
        height = static_cast<std::uint64_t>(top.header.height) - 1;
        for (auto& [at, block] : seen)
            if (at <= top.header.height) out.blocks.push_back(std::move(block));
        anchor = *trusted;
    } else {
        const auto newest = client.height();
        if (!newest) return error(newest.error().message);
        height = *newest;
    }
    RETRACE_TRY(header, encoded_answer(client, "retrace_getHeader", {rpc::quantity(height)}));
    Reader in(header);
    out.header = ledger::decode_header(in);
    if (!in.finish()) return error("the node's header does not decode");
    RETRACE_TRY(record, told_proof(client, contracts::keys::solver(solver), height));
    RETRACE_TRY(standing, told_proof(client, contracts::keys::standing(solver), height));
    out.record = std::move(record);
    out.standing = std::move(standing);
    if (!trusted) anchor = {height, to_hex(view(block_hash(out.header)))};
    // Of the bytes that a reader has, whose limits are narrower than those of the search.
    RETRACE_TRY(read, decode_reputation_proof(encode(out)));
    RETRACE_CHECK(verify_reputation(read, anchor));
    return read;
}

Result<ProvenReputation> verify_reputation(const ReputationProof& proof, const light::TrustedBlock& trusted) {
    ProvenReputation out;
    if (proof.blocks.empty()) {
        RETRACE_CHECK(check_trusted(proof.header, trusted));
    } else {
        RETRACE_TRY(chain, check_signed(proof, trusted));
        out.chain = std::move(chain);
    }
    RETRACE_CHECK(check_leaf(proof.record, proof.header, contracts::keys::solver(proof.solver), "the record"));
    RETRACE_CHECK(check_leaf(proof.standing, proof.header, contracts::keys::standing(proof.solver), "the standing"));
    out.solver = proof.solver;
    out.height = proof.header.height;
    out.time_s = proof.header.time_s();
    if (!proof.record.value.empty()) {
        const auto record = market::decode_record<market::SolverInfo>(proof.record.value);
        if (!record) return error("the proved record does not decode; is the chain of another version?");
        out.record = *record;
    }
    if (!proof.standing.value.empty()) {
        const auto standing = market::decode_record<market::Standing>(proof.standing.value);
        if (!standing || standing->height > proof.header.height)
            return error("the proved standing does not decode; is the chain of another version?");
        out.standing = market::decayed(*standing, proof.header.height);
    }
    return out;
}

}  // namespace retrace::node
