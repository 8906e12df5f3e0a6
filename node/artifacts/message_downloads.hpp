// SPDX-License-Identifier: MIT
// Several messages of a round at the same time. One after another, members that meet at one author share its link while
// the links of others are idle.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "kernels/runtime/thread_pool.hpp"
#include "node/artifacts/client.hpp"

namespace retrace::node {

/// Fetches messages over at most kTransfersMax connections at a time, each on a thread of its own. Only one thread at a time
/// may use it.
class MessageDownloads {
public:
    static constexpr std::size_t kTransfersMax = 8;
    /// Limit on the bytes of all messages from the beginning of their transfer until `accepted` has returned, by the most
    /// that each may have. A longer message is fetched alone.
    static constexpr std::uint64_t kBytesMax = 256 << 20;

    /// Tensors that one request asks for: at most kPackedTensorsMax, of at most `bytes_max` bytes in transport form.
    struct Part {
        std::vector<Hash32> roots;
        std::uint64_t bytes_max = 0;
        /// Called on the thread of the transfer; of a failure the next peer is asked.
        std::function<Status<Failure>(View bytes, kernels::ThreadPool& pool)> accept;
    };
    /// A message of `author`, whose parts are fetched in order.
    struct Download {
        std::uint32_t author = 0;
        PeerList peers;
        std::vector<Part> parts;
        /// Called on the thread of the transfer when a part has failed; frees what the parts before have left.
        std::function<void()> drop;
        std::uint64_t bytes_max() const;
    };

    /// `options.stop` is polled by the caller of `fetch` only. `store` outlives the downloads.
    MessageDownloads(Store& store, const ArtifactClient::Options& options);
    MessageDownloads(const MessageDownloads&) = delete;
    MessageDownloads& operator=(const MessageDownloads&) = delete;

    /// Returns when each download was accepted or has failed at all peers, or soon after a stop was requested.
    /// `accepted` is called by this thread with the place of each that was accepted, as soon as it is there. Authors who
    /// kept us waiting at the fetch before are asked after all others, each for a part of the time (PeerBackoff).
    void fetch(const std::vector<Download>& downloads, const std::function<void(std::size_t place)>& accepted);

private:
    /// Keeps its connections, and knows which of its peers failed.
    struct Transfer {
        Transfer(Store& store, const ArtifactClient::Options& options) : client(store, options) {}
        ArtifactClient client;
        kernels::ThreadPool pool{1};
    };
    using Places = std::vector<std::size_t>;
    class Work;
    using Job = std::pair<Transfer*, Places>;
    std::vector<Job> jobs_of(const std::vector<Download>& downloads);
    void run(const Job& job, const std::vector<Download>& downloads, Work& work);
    Status<Failure> run(Transfer& transfer, const Download& download);
    void note(const std::vector<Download>& downloads, const Places& accepted, const Places& timeouts);

    Store& store_;
    ArtifactClient::Options options_;
    const kernels::StopToken stop_;
    std::atomic<bool> cancelled_ = false;
    std::vector<std::unique_ptr<Transfer>> transfers_;  ///< Each fetches from authors of one number modulo their count.
    std::set<std::uint32_t> late_;                      ///< Authors whose last download ran out of time.
    /// Transfers at a time. Each has the time of a single one, so on a slow line many at a time would all be too slow: when at
    /// least half of them run out of time, half as many are made, and twice as many when fewer do. An author counts at the
    /// first time only: those who are silent on purpose would have the others fetched one at a time for ever.
    std::size_t window_ = kTransfersMax;
};

}  // namespace retrace::node
