// SPDX-License-Identifier: MIT
// Several messages of a round at the same time. One after another, members that meet at one author share its link while
// the links of others are idle.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/runtime/thread_pool.hpp"
#include "node/artifacts/client.hpp"

namespace retrace::node {

/// Fetches messages over at most kTransfersMax connections at a time, each on a thread of its own. Only one thread at a time
/// may use it.
class MessageDownloads {
public:
    static constexpr std::size_t kTransfersMax = 8;
    /// Limit on what the messages in transfer may take at most. A longer message is fetched alone.
    static constexpr std::uint64_t kBytesMax = 256 << 20;

    /// A message of `author`, at most `bytes_max` bytes of the transport forms of these tensors.
    struct Download {
        std::uint32_t author = 0;
        PeerList peers;
        std::vector<Hash32> roots;
        std::uint64_t bytes_max = 0;
        /// Called on the thread of the transfer; of a failure the next peer is asked.
        std::function<Status<Failure>(View bytes, kernels::ThreadPool& pool)> accept;
    };

    /// `options.stop` is polled by the caller of `fetch` only. `store` outlives the downloads.
    MessageDownloads(Store& store, const ArtifactClient::Options& options);
    MessageDownloads(const MessageDownloads&) = delete;
    MessageDownloads& operator=(const MessageDownloads&) = delete;

    /// Returns when each download was accepted or has failed at all peers, or soon after a stop was requested.
    /// `accepted` is called by this thread with the place of each that was accepted, as soon as it is there.
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
    void run(Transfer& transfer, const std::vector<Download>& downloads, const Places& places, Work& work);

    Store& store_;
    ArtifactClient::Options options_;
    const kernels::StopToken stop_;
    std::atomic<bool> cancelled_ = false;
    std::vector<std::unique_ptr<Transfer>> transfers_;  ///< Each fetches from authors of one number modulo their count.
    /// Transfers at a time. Each has the time of a single one, so on a slow line many at a time would all be too slow: when at
    /// least half of them run out of time, half as many are made, and twice as many when fewer do.
    std::size_t window_ = kTransfersMax;
};

}  // namespace retrace::node
