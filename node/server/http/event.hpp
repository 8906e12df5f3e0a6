// SPDX-License-Identifier: MIT
// Events for subscribers; each text is serialized once for all of them.
#pragma once

#include <memory>
#include <optional>

#include "ledger/block/block.hpp"
#include "node/server/jsonrpc/router.hpp"

namespace retrace::node::rpc {

/// Immutable text that is shared by the connections it is sent to.
using Text = std::shared_ptr<const std::string>;

/// A subscription as its connection holds it.
struct Subscribed {
    Subscribed(const std::string& id, Subscription subscription);

    Subscription what;          ///< Without its log filter, which is in `wanted`.
    std::size_t bytes = 0;      ///< Memory of its filter; the rest is bounded by the number of subscriptions.
    ledger::LogMatcher wanted;  ///< Filter of a subscription to logs.
    Text opening;               ///< Start of each of its messages, up to the result; kEventClosing ends them.
};
inline constexpr std::string_view kEventClosing = "}}";

/// A new block or a pending transaction. Not thread-safe.
class Event {
public:
    explicit Event(std::shared_ptr<const ledger::Block> block);
    explicit Event(ledger::TxPtr pending);

    bool is_pending() const noexcept { return pending_ != nullptr; }
    /// Estimate of its memory, texts included.
    std::size_t bytes() const noexcept { return bytes_; }
    /// Calls `send` with each message for `subscription`, in order, until `send` returns false.
    void notify(const Subscribed& subscription, const std::function<bool(const Text&)>& send);

private:
    struct LogText {
        ledger::LogEntry log;
        Text text;  // nullptr until a subscription matches
    };
    struct ProgressText {
        std::uint64_t task = 0;
        Text text;
    };

    const Text& head();
    const Text& pending_text(bool full);
    void notify_logs(const Subscribed& subscription, const std::function<bool(const Text&)>& send);
    void notify_progress(const Subscription& subscription, const std::function<bool(const Text&)>& send);

    const std::shared_ptr<const ledger::Block> block_;
    const ledger::TxPtr pending_;
    std::size_t bytes_ = 0;
    Text head_, hash_, full_;
    std::optional<std::vector<LogText>> logs_;
    std::optional<std::vector<ProgressText>> progress_;
};

}  // namespace retrace::node::rpc
