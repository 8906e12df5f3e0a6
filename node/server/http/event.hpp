// SPDX-License-Identifier: MIT
// What subscribers are told: made into text once, however many they are.
#pragma once

#include <memory>
#include <optional>

#include "ledger/block/block.hpp"
#include "node/server/jsonrpc/router.hpp"

namespace retrace::node::rpc {

/// Bytes that are on their way to many connections.
using Text = std::shared_ptr<const std::string>;

/// A subscription as its connection holds it.
struct Subscribed {
    Subscribed(const std::string& id, Subscription subscription);

    Subscription what;          ///< Without its filter, which is in `wanted`.
    std::size_t bytes = 0;      ///< That its filter keeps in memory; the rest is bounded by their number.
    ledger::LogMatcher wanted;  ///< Of logs.
    Text opening;               ///< Of each of its messages, up to the result. kEventClosing ends them.
};
inline constexpr std::string_view kEventClosing = "}}";

/// A new block or a pending transaction. One thread at a time.
class Event {
public:
    explicit Event(std::shared_ptr<const ledger::Block> block);
    explicit Event(ledger::TxPtr pending);

    bool is_pending() const noexcept { return pending_ != nullptr; }
    /// What it keeps in memory, about, texts included.
    std::size_t bytes() const noexcept { return bytes_; }
    /// What `subscription` wants to know of it, in order; ends when `send` returns false.
    void notify(const Subscribed& subscription, const std::function<bool(const Text&)>& send);

private:
    struct LogText {
        ledger::LogEntry log;
        Text text;  // nullptr until somebody wants it
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
