// SPDX-License-Identifier: MIT
#include "node/server/http/event.hpp"

#include <boost/json/serialize.hpp>
#include <utility>

#include "node/server/methods/eth_json.hpp"
#include "node/server/methods/log_filter.hpp"

namespace retrace::node::rpc {
namespace {

// Estimated memory of a transaction with its receipt, and of a log, without their data; kCopies counts the data, which
// is held twice as bytes and once as hex.
constexpr std::size_t kTxBytes = 1024;
constexpr std::size_t kLogBytes = 1024;
constexpr std::size_t kCopies = 4;

Text make_text(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace

Event::Event(std::shared_ptr<const ledger::Block> block) : block_(std::move(block)) {
    bytes_ = sizeof(Event) + block_->encoded_size + block_->txs.size() * kTxBytes;
    const auto count = [this](const ledger::Log& log) { bytes_ += kLogBytes + kCopies * log.data.size(); };
    for (const ledger::Log& log : block_->system_logs) count(log);
    for (const ledger::Receipt& receipt : block_->receipts) {
        bytes_ += receipt.output.size() + receipt.revert_reason.size();
        for (const ledger::Log& log : receipt.logs) count(log);
    }
}

Event::Event(ledger::TxPtr pending) : pending_(std::move(pending)) {
    bytes_ = sizeof(Event) + kTxBytes + kCopies * pending_->raw.size();
}

Subscribed::Subscribed(const std::string& id, Subscription subscription)
    : what(std::move(subscription)),
      bytes(bytes_of(what.filter)),
      wanted(std::exchange(what.filter, {})),
      opening(make_text(R"({"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":")" + id +
                        R"(","result":)")) {}

const Text& Event::head() {
    if (!head_) head_ = make_text(json::serialize(header_json(*block_)));
    return head_;
}

const Text& Event::pending_text(bool full) {
    Text& text = full ? full_ : hash_;
    if (!text) {
        text = make_text(full ? json::serialize(tx_json(*pending_, nullptr)) : '"' + data(pending_->hash) + '"');
    }
    return text;
}

void Event::notify_logs(const Subscribed& subscription, const std::function<bool(const Text&)>& send) {
    if (!logs_) {
        std::vector<LogText> made;  // assigned only when complete, because it is shared with other subscriptions
        for (ledger::LogEntry& log : ledger::logs_of(*block_, ledger::LogFilter{}))
            made.push_back({std::move(log), nullptr});
        logs_ = std::move(made);
    }
    for (LogText& entry : *logs_) {
        if (!subscription.wanted(entry.log.log)) continue;
        if (!entry.text) entry.text = make_text(json::serialize(log_json(entry.log)));
        if (!send(entry.text)) return;
    }
}

void Event::notify_progress(const Subscription& subscription, const std::function<bool(const Text&)>& send) {
    if (!progress_) {
        std::vector<ProgressText> made;
        for (TaskProgress& event : subscription.of_block(*block_))
            made.push_back({event.task, make_text(std::move(event.json))});
        progress_ = std::move(made);
    }
    for (const ProgressText& entry : *progress_) {
        if (subscription.task != 0 && subscription.task != entry.task) continue;
        if (!send(entry.text)) return;
    }
}

void Event::notify(const Subscribed& subscription, const std::function<bool(const Text&)>& send) {
    const Subscription& what = subscription.what;
    if (is_pending() != (what.kind == Subscription::Kind::pending_txs)) return;
    switch (what.kind) {
        case Subscription::Kind::new_heads: send(head()); return;
        case Subscription::Kind::logs: notify_logs(subscription, send); return;
        case Subscription::Kind::pending_txs: send(pending_text(what.full_txs)); return;
        case Subscription::Kind::task_progress: notify_progress(what, send); return;
        case Subscription::Kind::syncing: return;
    }
}

}  // namespace retrace::node::rpc
