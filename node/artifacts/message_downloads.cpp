// SPDX-License-Identifier: MIT
#include "node/artifacts/message_downloads.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace retrace::node {
namespace {

constexpr std::chrono::milliseconds kPoll{20};

std::uint64_t longest(const std::vector<MessageDownloads::Download>& downloads) {
    std::uint64_t out = 1;
    for (const MessageDownloads::Download& download : downloads) out = std::max(out, download.bytes_max);
    return out;
}

}  // namespace

/// What threads of transfers do next, and what they have done.
class MessageDownloads::Work {
public:
    explicit Work(std::vector<std::pair<Transfer*, Places>> waiting) : waiting_(waiting.begin(), waiting.end()) {}

    // Called by the threads.
    std::optional<std::pair<Transfer*, Places>> next() {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) return std::nullopt;
        auto out = std::move(waiting_.front());
        waiting_.pop_front();
        return out;
    }
    void ended(std::size_t place, const Status<Failure>& status) {
        const std::lock_guard lock(mutex_);
        if (status) accepted_.push_back(place);
        if (!status && status.error().fault == Fault::timeout) ++timeouts_;
        changed_.notify_one();
    }
    void leave() {
        const std::lock_guard lock(mutex_);
        --threads_;
        changed_.notify_one();
    }

    // Called by the caller of `fetch`.
    void enter() {
        const std::lock_guard lock(mutex_);
        ++threads_;
    }
    /// Waits for a short time. Returns what was accepted since the last call; nullopt: no thread is left.
    std::optional<Places> wait() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kPoll, [&] { return !accepted_.empty() || threads_ == 0; });
        if (accepted_.empty() && threads_ == 0) return std::nullopt;
        return std::exchange(accepted_, {});
    }
    std::size_t timeouts() {
        const std::lock_guard lock(mutex_);
        return timeouts_;
    }

private:
    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    std::deque<std::pair<Transfer*, Places>> waiting_;
    Places accepted_;
    std::size_t threads_ = 0, timeouts_ = 0;
};

MessageDownloads::MessageDownloads(Store& store, const ArtifactClient::Options& options)
    : store_(store), options_(options), stop_(options.stop), transfers_(kTransfersMax) {
    options_.rounds = 1;
    options_.partial_bytes = kBytesMax / kTransfersMax;
    options_.stop = [this] { return cancelled_.load(); };
}

void MessageDownloads::run(Transfer& transfer, const std::vector<Download>& downloads, const Places& places,
                           Work& work) {
    for (const std::size_t place : places) {
        if (cancelled_) return;
        const Download& download = downloads[place];
        Status<Failure> done = failure(Fault::io, "the transfer did not begin");
        try {
            transfer.client.ask_again(download.peers.first);
            done = transfer.client.fetch_packed(download.peers, download.roots, download.bytes_max,
                                                [&](View bytes) { return download.accept(bytes, transfer.pool); });
        } catch (const std::exception& e) {
            done = failure(Fault::io, e.what());
        }
        work.ended(place, done);
    }
}

void MessageDownloads::fetch(const std::vector<Download>& downloads,
                             const std::function<void(std::size_t place)>& accepted) {
    std::vector<std::pair<Transfer*, Places>> waiting;
    for (std::size_t place = 0; place < downloads.size(); ++place) {
        std::unique_ptr<Transfer>& transfer = transfers_[downloads[place].author % kTransfersMax];
        if (!transfer) transfer = std::make_unique<Transfer>(store_, options_);
        const auto same = std::ranges::find(waiting, transfer.get(), [](const auto& of) { return of.first; });
        if (same != waiting.end())
            same->second.push_back(place);
        else
            waiting.push_back({transfer.get(), {place}});
    }
    const std::size_t at_once = std::clamp<std::size_t>(kBytesMax / longest(downloads), 1, window_);
    const std::size_t count = std::min(at_once, waiting.size());
    Work work(std::move(waiting));
    cancelled_ = false;
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        work.enter();
        try {
            threads.emplace_back([&] {
                while (const auto next = work.next()) run(*next->first, downloads, next->second, work);
                work.leave();
            });
        } catch (const std::system_error&) {
            // The system allows no more threads: those that there are fetch everything, without any nothing is fetched.
            work.leave();
            break;
        }
    }
    while (const auto places = work.wait()) {
        if (stop_.stop_requested()) cancelled_ = true;
        for (const std::size_t place : *places) accepted(place);
    }
    threads.clear();
    if (cancelled_ || downloads.empty()) return;
    if (2 * work.timeouts() >= downloads.size())
        window_ = std::max<std::size_t>(window_ / 2, 1);
    else
        window_ = std::min(2 * window_, kTransfersMax);
}

}  // namespace retrace::node
