// SPDX-License-Identifier: MIT
#include "node/agents/proven_block.hpp"

#include <boost/json/object.hpp>

#include "node/platform/json_values.hpp"

namespace retrace::node {

Result<ledger::Header> newest_proven(RpcClient& node, light::LightClient& light) {
    RETRACE_TRY(signed_block, light.verified());
    if (signed_block.header.height < 2) return error("the chain has no block that can be proved yet");
    const auto height = static_cast<std::uint64_t>(signed_block.header.height) - 1;
    const auto answer = node.call("retrace_getHeader", {rpc::quantity(height)});
    if (!answer) return error(answer.error().message);
    const boost::json::object* const object = answer->if_object();
    const boost::json::value* const encoded = object != nullptr ? object->if_contains("encoded") : nullptr;
    const auto bytes = rpc::parse_data(encoded != nullptr ? *encoded : boost::json::value(nullptr));
    if (!bytes) return error("the node's answer is no header");
    Reader in(*bytes);
    const ledger::Header header = ledger::decode_header(in);
    if (!in.finish() || header.height != height || !equal(view(block_hash(header)), signed_block.header.app_hash))
        return error("the node's block " + std::to_string(height) + " is not the one that the validators signed for");
    return header;
}

}  // namespace retrace::node
