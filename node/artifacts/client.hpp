// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/artifacts/partial_downloads.hpp"
#include "node/artifacts/peers.hpp"
#include "node/artifacts/store.hpp"
#include "node/net/http_client.hpp"

namespace retrace::node {

/// Fetches artifacts from peers into a store, and uploads from a store to a node. Everything that a peer sends is
/// compared with the requested root before use; a peer that lies costs one message. Transfers in both directions resume
/// where they stopped, also after a restart, because the store keeps what has arrived.
///
/// Blocking. Not thread-safe.
class ArtifactClient {
public:
    struct Options {
        /// Time for which a peer may keep us waiting for one artifact, beyond the time at the floor rate.
        std::chrono::milliseconds deadline{10'000};
        unsigned rounds = 3;                                ///< Number of attempts over the whole list of peers.
        std::chrono::milliseconds pause{200};               ///< Between rounds; doubles after each.
        std::uint64_t floor_rate = 1 << 20;                 ///< Bytes per second.
        std::chrono::milliseconds upload_deadline{30'000};  ///< For one message to our own node.
        kernels::StopToken stop = {};                       ///< Ends a running fetch with a timeout.
        /// Limit on what is kept of pieces from peers that failed; 0: two programs.
        std::size_t partial_bytes = 0;
    };
    struct Progress {
        Hash32 root;              ///< Root of the tensor in transfer.
        std::uint64_t tiles = 0;  ///< Tiles stored so far.
        std::uint64_t of = 0;
    };

    /// `store` outlives the client.
    ArtifactClient(Store& store, const Options& options);
    explicit ArtifactClient(Store& store) : ArtifactClient(store, Options{}) {}

    const Options& options() const noexcept { return options_; }

    /// Called after every range of tiles.
    void set_progress(std::function<void(const Progress&)> progress) { progress_ = std::move(progress); }
    /// From now on, when all peers have failed to give a tensor at the floor rate, those that are asked first are asked
    /// once more, at this rate: members of a group serve states behind their messages, on the links of homes. None: they
    /// are not. Set it only while Options::stop bounds the time of a fetch.
    void set_slow_rate(std::optional<std::uint64_t> bytes_per_second) { slow_rate_ = bytes_per_second; }

    /// Each returns at once if the store has the artifact. The peers are tried in order; those that failed a moment ago
    /// are skipped. Returns the failure of the last peer; a failure of our own store is returned at once.
    Status<Failure> fetch_program(const PeerList& peers, const Hash32& root);
    /// Fetches tensors of a message in transport form, one after another, at most `bytes_max` bytes; 1 to
    /// kPackedTensorsMax roots. `accept` compares them with the roots; the next peer is asked where it fails. Nothing is
    /// stored.
    Status<Failure> fetch_packed(const PeerList& peers, const std::vector<Hash32>& roots, std::uint64_t bytes_max,
                                 const std::function<Status<Failure>(View)>& accept);
    /// With an earlier version at hand only the tiles that differ from it are transferred, and the hashes of all. If
    /// `record` is given, a tensor of another type or shape fails with wrong_shape before any transfer.
    Status<Failure> fetch_tensor(const PeerList& peers, const Hash32& root, const kernels::Tensor* earlier = nullptr,
                                 const kernels::TensorRecord* record = nullptr);
    Status<Failure> fetch_manifest(const PeerList& peers, const Hash32& state_root);
    /// Fetches the manifest and all of its tensors.
    Status<Failure> fetch_state(const PeerList& peers, const Hash32& root);

    /// Makes sure that these peers are asked at the next fetch, for a quarter of the usual time if they failed a moment
    /// ago: before a piece of work reports that its run's solver served nothing, that solver was asked.
    void ask_again(const std::vector<std::string>& peers);

    /// Number of tiles received from peers.
    std::uint64_t tiles_fetched() const noexcept { return tiles_fetched_; }

    /// Uploads from the store to the node at `peer`. not_wanted if no live task names the root.
    Status<Failure> upload_program(const std::string& peer, const Hash32& root);
    Status<Failure> upload_tensor(const std::string& peer, const Hash32& root);
    Status<Failure> upload_state(const std::string& peer, const Hash32& root);

private:
    /// A peer and its remaining time for the requested artifact.
    struct Server {
        const std::string& url;
        HttpConnection& connection;
        TimeAllowance allowance;
    };
    using Attempt = std::function<Status<Failure>(Server&)>;
    using Upload = std::function<Status<Failure>(HttpConnection&)>;

    /// `last_rate`: the floor rate of a last pass over the peers that are asked first; none: there is no such pass.
    Status<Failure> try_peers(const PeerList& peers, const Attempt& attempt,
                              std::optional<std::uint64_t> last_rate = std::nullopt);
    /// `grace`: Options::deadline, or less.
    Status<Failure> try_peer(const std::string& peer, const Attempt& attempt, std::chrono::milliseconds grace,
                             std::uint64_t floor_rate);
    /// Our own node is retried however long it took.
    Status<Failure> try_node(const std::string& node, const Upload& upload);
    bool over() const { return options_.stop.stop_requested(); }
    Result<HttpConnection*, Failure> connection(const std::string& peer);
    /// `bytes`: expected size of the reply, which must arrive at the floor rate or faster.
    Result<Bytes, Failure> get(Server& peer, const Hash32& root, const std::string& what, std::size_t limit,
                               std::uint64_t bytes = 0);
    /// Fetches the next tiles of `gap` and removes them from it.
    Status<Failure> pull_tiles(Server& peer, const Hash32& root, std::uint64_t tile_bytes, wire::Range& gap,
                               std::uint64_t& ask);
    Status<Failure> put(HttpConnection& peer, const Hash32& root, const std::string& what, Bytes body);
    Result<wire::Info, Failure> ask_info(HttpConnection& node, const Hash32& root);
    /// Goes on where the peer stopped; what it sends is kept if it fails, and returned once it is complete.
    Result<Bytes, Failure> pull_program(Server& peer, const Hash32& root, bool is_first);
    /// The same for what is served in pieces. `key` names it among the partial downloads; `more` ends each request.
    Result<Bytes, Failure> pull_pieces(Server& peer, const Hash32& root, const Hash32& key, const char* name,
                                       const std::string& more, std::uint64_t bytes_max, bool is_first);
    Status<Failure> pull_tensor(Server& peer, const Hash32& root, const kernels::Tensor* earlier,
                                const kernels::TensorRecord* record);
    Status<Failure> take_equal_tiles(Server& peer, const Hash32& root, const kernels::TensorHeader& header,
                                     const kernels::Tensor& earlier);
    Status<Failure> push_range(HttpConnection& peer, const Hash32& root, const wire::Range& range);
    void report(const Hash32& root, std::uint64_t tiles, std::uint64_t of) const;

    Store& store_;
    Options options_;
    std::function<void(const Progress&)> progress_;
    std::map<std::string, HttpConnection> connections_;
    std::optional<std::uint64_t> slow_rate_;
    PeerBackoff backoff_;
    PartialProgramDownloads partial_downloads_;
    std::uint64_t tiles_fetched_ = 0;
};

}  // namespace retrace::node
