// SPDX-License-Identifier: MIT
#include "node/agents/kept_blocks.hpp"

#include <algorithm>
#include <boost/json/object.hpp>

namespace retrace::node {

Result<std::uint64_t> first_kept(RpcClient& client, std::uint64_t wanted) {
    const auto status = client.call("retrace_status", {});
    if (!status) return error(status.error().message);
    const boost::json::object* object = status->if_object();
    const boost::json::value* oldest = object != nullptr ? object->if_contains("oldest_block") : nullptr;
    boost::system::error_code failed;
    const auto height = oldest != nullptr ? oldest->to_number<std::uint64_t>(failed) : 0;
    if (oldest == nullptr || failed) return error("the node does not say which blocks it keeps");
    return std::max(wanted, height);
}

}  // namespace retrace::node
