// SPDX-License-Identifier: MIT
#include "node/agents/chain_reader.hpp"

#include "node/agents/proven_block.hpp"

namespace retrace::node {

Result<std::uint64_t, RpcFailure> ChainReader::height() {
    RETRACE_TRY(tip, client_.height());
    if (!trust_) return tip;
    if (tip == tip_ && !roots_.empty()) return roots_.rbegin()->first;
    const auto refused = [](const std::string& why) { return Unexpected{RpcFailure{0, why, {}}}; };
    if (!light_) {
        const auto url = parse_url(client_.url());
        if (!url) return refused(url.error().message);
        auto started = light::LightClient::start(light::node_source(*url), *trust_);
        if (!started) return refused(started.error().message);
        light_.emplace(std::move(*started));
    }
    const auto proven = newest_proven(client_, *light_);
    if (!proven) return refused(proven.error().message);
    tip_ = tip;
    roots_[proven->header.height] = proven->header.state_root;
    if (roots_.size() > kKept) roots_.erase(roots_.begin());
    return roots_.rbegin()->first;
}

RemoteState ChainReader::state(std::uint64_t height) const {
    if (!trust_) return RemoteState(client_, height);
    const auto root = roots_.find(height);
    if (root != roots_.end()) return RemoteState(client_, height, root->second);
    return RemoteState::unreadable(client_, height, "block " + std::to_string(height) + " is not proved");
}

}  // namespace retrace::node
