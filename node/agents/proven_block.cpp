// SPDX-License-Identifier: MIT
#include "node/agents/proven_block.hpp"

#include <boost/json/object.hpp>
#include <charconv>

#include "node/platform/json_values.hpp"

namespace retrace::node {
namespace {

/// The number in CometBFT's name of a chain, "retrace-7298-…"; 0: it has another form.
std::uint64_t chain_id_of(std::string_view name) {
    constexpr std::string_view kPrefix = "retrace-";
    if (!name.starts_with(kPrefix)) return 0;
    std::uint64_t out = 0;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + kPrefix.size(), end, out);
    return read.ec == std::errc() && read.ptr != end && *read.ptr == '-' ? out : 0;
}

/// The header that the node shows of a block, which the caller compares with a hash.
Result<ledger::Header> told_header(RpcClient& node, std::uint64_t height) {
    const auto answer = node.call("retrace_getHeader", {rpc::quantity(height)});
    if (!answer) return error(answer.error().message);
    const boost::json::object* const object = answer->if_object();
    const boost::json::value* const encoded = object != nullptr ? object->if_contains("encoded") : nullptr;
    const auto bytes = rpc::parse_data(encoded != nullptr ? *encoded : boost::json::value(nullptr));
    if (!bytes) return error("the node's answer is no header");
    Reader in(*bytes);
    const ledger::Header header = ledger::decode_header(in);
    if (!in.finish() || header.height != height) return error("the node's answer is not the header of the block");
    return header;
}

}  // namespace

Result<ProvenBlock> newest_proven(RpcClient& node, light::LightClient& light) {
    RETRACE_TRY(signed_block, light.verified());
    if (signed_block.header.height < 2) return error("the chain has no block that can be proved yet");
    const auto height = static_cast<std::uint64_t>(signed_block.header.height) - 1;
    RETRACE_TRY(header, told_header(node, height));
    if (!equal(view(block_hash(header)), signed_block.header.app_hash))
        return error("the node's block " + std::to_string(height) + " is not the one that the validators signed for");
    return ProvenBlock{header, chain_id_of(signed_block.header.chain_id)};
}

Result<ledger::Header> header_before(RpcClient& node, const ledger::Header& proven) {
    if (proven.height == 0) return error("no block is before the first one");
    RETRACE_TRY(header, told_header(node, proven.height - 1));
    if (block_hash(header) != proven.parent)
        return error("the node's block " + std::to_string(header.height) + " is not the one that the next one follows");
    return header;
}

}  // namespace retrace::node
