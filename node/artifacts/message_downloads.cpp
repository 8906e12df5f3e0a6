// SPDX-License-Identifier: MIT
#include "node/artifacts/message_downloads.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace retrace::node {
namespace {

constexpr std::chrono::milliseconds kPoll{20};

}  // namespace

/// What threads of transfers do next, and what they have done.
class MessageDownloads::Work {
public:
    Work(std::vector<Job> waiting, const std::atomic<bool>& cancelled)
        : waiting_(std::move(waiting)), cancelled_(cancelled) {}

    // Called by the threads.
    /// A job whose transfer no other thread uses; `done`: that of the thread's last job.
    std::optional<Job> next(const Transfer* done) {
        const std::lock_guard lock(mutex_);
        busy_.erase(done);
        const auto found = std::ranges::find_if(waiting_, [&](const Job& job) { return !busy_.contains(job.first); });
        if (found == waiting_.end()) return std::nullopt;
        Job out = std::move(*found);
        waiting_.erase(found);
        busy_.insert(out.first);
        return out;
    }
    /// Waits until a message of so many bytes may be in memory. Returns false after a stop.
    bool make_room(std::uint64_t bytes) {
        std::unique_lock lock(mutex_);
        const auto has_room = [&] { return held_ == 0 || held_ + bytes <= kBytesMax || cancelled_; };
        while (!room_.wait_for(lock, kPoll, has_room)) continue;
        if (cancelled_) return false;
        held_ += bytes;
        return true;
    }
    void ended(std::size_t place, const Status<Failure>& status, std::uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        if (status)
            accepted_.push_back(place);
        else
            free(bytes);
        if (!status && status.error().fault == Fault::timeout) timeouts_.push_back(place);
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
    /// The caller has what was accepted, of so many bytes.
    void taken(std::uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        free(bytes);
    }
    Places timeouts() {
        const std::lock_guard lock(mutex_);
        return timeouts_;
    }

private:
    void free(std::uint64_t bytes) {
        held_ -= bytes;
        room_.notify_all();
    }

    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_, room_;
    std::vector<Job> waiting_;
    std::set<const Transfer*> busy_;
    const std::atomic<bool>& cancelled_;
    Places accepted_, timeouts_;
    std::uint64_t held_ = 0;
    std::size_t threads_ = 0;
};

std::uint64_t MessageDownloads::Download::bytes_max() const {
    std::uint64_t out = 0;
    for (const Part& part : parts) out += part.bytes_max;
    return out;
}

MessageDownloads::MessageDownloads(Store& store, const ArtifactClient::Options& options)
    : store_(store), options_(options), stop_(options.stop), transfers_(kTransfersMax) {
    options_.rounds = 1;
    options_.partial_bytes = kBytesMax / kTransfersMax;
    options_.stop = [this] { return cancelled_.load(); };
}

Status<Failure> MessageDownloads::run(Transfer& transfer, const Download& download) {
    try {
        transfer.client.ask_again(download.peers.first);
        for (const Part& part : download.parts)
            RETRACE_CHECK(transfer.client.fetch_packed(download.peers, part.roots, part.bytes_max,
                                                       [&](View bytes) { return part.accept(bytes, transfer.pool); }));
    } catch (const std::exception& e) {
        return failure(Fault::io, e.what());
    }
    return Unit{};
}

void MessageDownloads::run(const Job& job, const std::vector<Download>& downloads, Work& work) {
    for (const std::size_t place : job.second) {
        const Download& download = downloads[place];
        if (cancelled_ || !work.make_room(download.bytes_max())) return;
        const Status<Failure> done = run(*job.first, download);
        if (!done && download.drop) download.drop();
        work.ended(place, done, download.bytes_max());
    }
}

std::vector<MessageDownloads::Job> MessageDownloads::jobs_of(const std::vector<Download>& downloads) {
    std::vector<Job> out;
    for (const bool late : {false, true}) {
        const auto begin = static_cast<std::ptrdiff_t>(out.size());
        for (std::size_t place = 0; place < downloads.size(); ++place) {
            const std::uint32_t author = downloads[place].author;
            if (late_.contains(author) != late) continue;
            std::unique_ptr<Transfer>& transfer = transfers_[author % kTransfersMax];
            if (!transfer) transfer = std::make_unique<Transfer>(store_, options_);
            const auto same = std::find_if(out.begin() + begin, out.end(),
                                           [&](const Job& job) { return job.first == transfer.get(); });
            if (same != out.end())
                same->second.push_back(place);
            else
                out.push_back({transfer.get(), {place}});
        }
    }
    return out;
}

void MessageDownloads::note(const std::vector<Download>& downloads, const Places& accepted, const Places& timeouts) {
    std::size_t first = 0;  // Of those that ran out of time, for the first time since they were in time.
    for (const std::size_t place : timeouts) first += late_.insert(downloads[place].author).second ? 1 : 0;
    for (const std::size_t place : accepted) late_.erase(downloads[place].author);
    const std::size_t counted = downloads.size() - (timeouts.size() - first);
    if (2 * first >= counted)
        window_ = std::max<std::size_t>(window_ / 2, 1);
    else
        window_ = std::min(2 * window_, kTransfersMax);
}

void MessageDownloads::fetch(const std::vector<Download>& downloads,
                             const std::function<void(std::size_t place)>& accepted) {
    std::vector<Job> jobs = jobs_of(downloads);
    const std::size_t count = std::min(window_, jobs.size());
    cancelled_ = false;
    Work work(std::move(jobs), cancelled_);
    Places all;
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        work.enter();
        try {
            threads.emplace_back([&] {
                for (auto job = work.next(nullptr); job; job = work.next(job->first)) run(*job, downloads, work);
                work.leave();
            });
        } catch (const std::system_error&) {
            // The system allows no more threads: those that there are fetch everything, without any nothing is fetched.
            work.leave();
            break;
        }
    }
    try {
        while (const auto places = work.wait()) {
            if (stop_.stop_requested()) cancelled_ = true;
            for (const std::size_t place : *places) {
                accepted(place);
                work.taken(downloads[place].bytes_max());
                all.push_back(place);
            }
        }
    } catch (...) {
        cancelled_ = true;  // Ends the threads, which could wait for room for ever.
        throw;
    }
    threads.clear();
    if (!cancelled_ && !downloads.empty()) note(downloads, all, work.timeouts());
}

}  // namespace retrace::node
