// SPDX-License-Identifier: MIT
#include "tests/unit/node/signed_node.hpp"

#include <chrono>
#include <ctime>

#include "ledger/crypto/ed25519.hpp"
#include "ledger/exec/validator.hpp"
#include "node/platform/base64.hpp"
#include "node/server/config/dev_chain.hpp"

namespace retrace::node::test {
namespace {

/// In the past, so that no signed block is from the future.
std::int64_t start_of_chain() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count() - 1000;
}

std::string time_text(const light::Time& time) {
    const std::time_t seconds = time.seconds;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char out[40];
    std::strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return out;
}

json::object id_json(const light::BlockId& id) {
    return {{"hash", to_hex(id.hash)}, {"parts", json::object{{"total", id.parts}, {"hash", to_hex(id.parts_hash)}}}};
}

json::object commit_json(const light::LightBlock& block) {
    const light::Header& header = block.header;
    const light::Vote& vote = block.commit.votes[0];
    json::object shown{{"version", json::object{{"block", std::to_string(header.block_version)}}},
                       {"chain_id", header.chain_id},
                       {"height", std::to_string(header.height)},
                       {"time", time_text(header.time)},
                       {"last_block_id", id_json(header.last_block)},
                       {"validators_hash", to_hex(header.validators_hash)},
                       {"next_validators_hash", to_hex(header.next_validators_hash)},
                       {"app_hash", to_hex(header.app_hash)},
                       {"proposer_address", to_hex(header.proposer)}};
    for (const char* const empty :
         {"last_commit_hash", "data_hash", "consensus_hash", "last_results_hash", "evidence_hash"})
        shown[empty] = "";
    const json::object signature{{"block_id_flag", vote.flag},
                                 {"validator_address", to_hex(vote.validator)},
                                 {"timestamp", time_text(vote.time)},
                                 {"signature", to_base64(vote.signature)}};
    json::object commit{{"height", std::to_string(block.commit.height)},
                        {"round", block.commit.round},
                        {"block_id", id_json(block.commit.block)},
                        {"signatures", json::array{signature}}};
    return {{"signed_header", json::object{{"header", std::move(shown)}, {"commit", std::move(commit)}}}};
}

json::object validators_json(const light::Validator& one) {
    const json::object key{{"type", "tendermint/PubKeyEd25519"}, {"value", to_base64(view(one.key))}};
    return {{"validators", json::array{json::object{{"pub_key", key}, {"voting_power", std::to_string(one.power)}}}}};
}

}  // namespace

SignedNode::SignedNode(RpcWorld& world)
    : world_(world),
      start_(start_of_chain()),
      peer_([this](const std::string& request_line, const HostilePeer::Send& send) {
          send(HostilePeer::ok(answer(request_line, peer_.body())));
      }) {}

std::string SignedNode::hash_at(std::uint64_t height) {
    const std::lock_guard lock(mutex_);
    return to_hex(view(hash_of(signed_block(height).header)));
}

void SignedNode::mine() {
    const std::lock_guard lock(mutex_);
    world_.mine();
}

void SignedNode::lie(const std::string& method, Lie lie) {
    const std::lock_guard lock(mutex_);
    lies_[method] = std::move(lie);
}

void SignedNode::show_up_to(std::optional<std::uint64_t> height) {
    const std::lock_guard lock(mutex_);
    newest_ = height;
}

light::LightBlock SignedNode::signed_block(std::uint64_t height) const {
    light::LightBlock out;
    out.validators = {{ledger::ed25519_public_key(seed_), 10}};
    out.header.block_version = 11;
    out.header.chain_id = "retrace-" + std::to_string(kDevChainId) + "-test";
    out.header.height = static_cast<std::int64_t>(height);
    out.header.time = {start_ + static_cast<std::int64_t>(height), 0};
    out.header.validators_hash = out.header.next_validators_hash = to_bytes(view(hash_of(out.validators)));
    out.header.app_hash = to_bytes(view(world_.chain->block(height - 1)->hash));
    out.header.proposer = Bytes(20, 3);
    out.commit.height = out.header.height;
    out.commit.block = {to_bytes(view(hash_of(out.header))), 1, Bytes(32, 1)};
    const auto validator = ledger::consensus_address(out.validators[0].key);
    light::Vote vote{light::kForBlock, Bytes(validator.begin(), validator.end()), out.header.time, {}};
    const auto signature = ledger::ed25519_sign(seed_, signed_bytes(out.header.chain_id, out.commit, vote));
    vote.signature.assign(signature.begin(), signature.end());
    out.commit.votes = {std::move(vote)};
    return out;
}

std::string SignedNode::answer(const std::string& request_line, const std::string& body) {
    const std::lock_guard lock(mutex_);
    const json::value calls = json::parse(body);
    if (!calls.is_array()) return json::serialize(answer_one(request_line, calls));
    json::array out;
    for (const json::value& call : calls.as_array()) out.push_back(answer_one(request_line, call));
    return json::serialize(out);
}

json::value SignedNode::answer_one(const std::string& request_line, const json::value& call) {
    const std::string method(call.at("method").as_string());
    json::value out = json::object{};
    if (request_line.starts_with("POST /comet ")) {
        const json::value* const height = call.at("params").as_object().if_contains("height");
        const light::LightBlock block =
            signed_block(height != nullptr ? std::stoull(std::string(height->as_string()))
                                           : newest_.value_or(world_.chain->tip()->header.height + 1));
        out.as_object()["result"] = method == "commit" ? commit_json(block) : validators_json(block.validators[0]);
    } else {
        out = json::parse(world_.raw(json::serialize(call)));
    }
    const auto lie = lies_.find(method);
    if (lie != lies_.end() && lie->second && out.as_object().contains("result")) lie->second(out.at("result"));
    return out;
}

}  // namespace retrace::node::test
