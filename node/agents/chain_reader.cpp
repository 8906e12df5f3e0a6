// SPDX-License-Identifier: MIT
#include "node/agents/chain_reader.hpp"

#include <thread>

#include "node/agents/proven_block.hpp"
#include "node/agents/proven_outcome.hpp"

namespace retrace::node {
namespace {

constexpr std::chrono::milliseconds kPause{50};

Unexpected<RpcFailure> refused(const std::string& why) { return Unexpected{RpcFailure{0, why, {}}}; }

}  // namespace

Result<std::uint64_t, RpcFailure> ChainReader::height() {
    RETRACE_TRY(tip, client_.height());
    if (!trust_) return tip;
    if (tip != tip_ || headers_.empty()) {
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
        chain_id_ = proven->chain_id;
        headers_[proven->header.height] = proven->header;
        if (headers_.size() > kKept) headers_.erase(headers_.begin());
    }
    look_at_age();
    return headers_.rbegin()->first;
}

void ChainReader::look_at_age() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto then = std::chrono::nanoseconds(headers_.rbegin()->second.time_ns);
    const std::int64_t age = std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
    const bool old = age > kOldSeconds;
    if (old && !told_old_ && on_old_) {
        on_old_("the newest block that the node shows is " + std::to_string(age / 60) +
                " minutes old; ask another node, because this one may hide newer ones");
    }
    told_old_ = old;
}

RemoteState ChainReader::state(std::uint64_t height) {
    if (!trust_) {
        slots_->advance(client_, height);
        return RemoteState(client_, height, slots_);
    }
    const auto header = headers_.find(height);
    if (header != headers_.end()) return RemoteState(client_, height, header->second.state_root);
    return RemoteState::unreadable(client_, height, "block " + std::to_string(height) + " is not proved");
}

Result<RemoteState> ChainReader::newest() {
    const auto at = height();
    if (!at) return error(at.error().message);
    return state(*at);
}

Result<std::uint64_t, RpcFailure> ChainReader::chain_id() {
    if (!trust_) return client_.chain_id();
    if (headers_.empty()) RETRACE_CHECK(height());
    if (chain_id_ == 0) return refused("the validators' headers do not name the chain of the ledger");
    return chain_id_;
}

Result<std::uint64_t, RpcFailure> ChainReader::next_nonce(const ledger::Address& account) {
    RETRACE_TRY(told, client_.next_nonce(account));
    if (!trust_) return told;
    const auto end = std::chrono::steady_clock::now() + wait_;
    for (;;) {
        RETRACE_TRY(at, height());
        const RemoteState view = state(at);
        const std::uint64_t proven = view.account(account).nonce;
        if (view.failure()) return Unexpected{*view.failure()};
        if (told <= proven) return proven;
        if (std::chrono::steady_clock::now() > end) {
            return refused("the node says that " + std::to_string(told - proven) +
                           " transactions of this account wait for a block; try again when it shows that they are in "
                           "one, or ask another node");
        }
        std::this_thread::sleep_for(kPause);
    }
}

Result<TxOutcome> ChainReader::outcome(TxOutcome told) {
    if (!trust_) return told;
    RETRACE_TRY(header, header_at(told.height));
    return proven_outcome(client_, header, told.hash);
}

Result<ledger::Header> ChainReader::header_at(std::uint64_t wanted) {
    const auto end = std::chrono::steady_clock::now() + wait_;
    for (;;) {
        const auto at = height();
        if (!at) return error(at.error().message);
        if (*at >= wanted) break;
        if (std::chrono::steady_clock::now() > end)
            return error("the node does not show a later block that proves block " + std::to_string(wanted));
        std::this_thread::sleep_for(kPause);
    }
    ledger::Header header = headers_.lower_bound(wanted)->second;
    if (header.height - wanted > kHeadersBack)
        return error("block " + std::to_string(wanted) + " is too far below the proved ones");
    while (header.height > wanted) {
        RETRACE_TRY(before, header_before(client_, header));
        header = before;
    }
    return header;
}

}  // namespace retrace::node
