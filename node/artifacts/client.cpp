// SPDX-License-Identifier: MIT
#include "node/artifacts/client.hpp"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "merkle/hash/sha256.hpp"
#include "node/artifacts/tensor_layout.hpp"

namespace retrace::node {
namespace {

std::uint64_t tile_count(const kernels::TensorHeader& header) { return kernels::geometry(header.dims).tiles(); }

std::uint64_t total(const std::vector<wire::Range>& ranges) {
    std::uint64_t out = 0;
    for (const wire::Range& range : ranges) out += range.count;
    return out;
}

/// Maximum number of open connections.
constexpr std::size_t kConnectionsMax = 64;
/// Tiles of the first message: at most 64 KiB and its proof. A peer on a slow line sends that many in time, so repeated
/// fetches make progress, and what is lost with a broken connection is little.
constexpr std::uint64_t kFirstTiles = 16;
constexpr std::chrono::milliseconds kQuick{500};
constexpr std::chrono::seconds kLong{2};

/// Random name of an upload: nobody can guess it and spoil the pieces that have arrived.
std::string random_name() {
    std::random_device random;
    Bytes bytes;
    for (int i = 0; i < 16; ++i) bytes.push_back(static_cast<std::uint8_t>(random()));
    return to_hex(bytes);
}

/// Answers of a peer that does not have the artifact, and local damage. Any other failure, or a long wait, counts
/// against the peer.
bool is_no_blame(Fault fault) noexcept {
    return fault == Fault::not_found || fault == Fault::incomplete || fault == Fault::not_wanted ||
           fault == Fault::refused || fault == Fault::corrupt;
}

/// Local failures, which another peer would not change.
bool is_local(Fault fault) noexcept {
    return fault == Fault::io || fault == Fault::no_space || fault == Fault::in_use || fault == Fault::wrong_shape;
}

/// The root binds type and shape: a root with another type or shape than the record's is not the tensor that was
/// agreed.
Status<Failure> check_shape(const Hash32& root, const kernels::TensorHeader& header,
                            const kernels::TensorRecord* record) {
    if (record == nullptr || (header.dtype == record->dtype && header.dims == record->dims)) return Unit{};
    return failure(Fault::wrong_shape,
                   "tensor " + to_hex(view(root)) + " has another dtype or shape than the program says");
}

/// Decodes a peer's refusal; an unknown slug becomes `refused`.
Failure read_refusal(const HttpReply& reply) {
    const auto said = wire::decode_refusal(reply.body);
    const std::string status = "the peer answered " + std::to_string(reply.status);
    if (!said) return {Fault::refused, status};
    for (const Fault fault : {Fault::not_found, Fault::incomplete, Fault::not_wanted}) {
        if (said->slug == slug(fault)) return {fault, said->message};
    }
    return {Fault::refused, status + " " + said->slug + ": " + said->message};
}

template <class T>
Result<T, Failure> decoded_from_peer(Result<T, wire::WireError> result) {
    if (result) return std::move(result).value();
    return failure(Fault::malformed, "the peer's message is refused: " + std::string(wire::slug(result.error())));
}

/// Names several artifacts of one transfer.
Hash32 key_of(const std::vector<Hash32>& roots) {
    Bytes names;
    for (const Hash32& root : roots) names.insert(names.end(), root.bytes.begin(), root.bytes.end());
    return merkle::sha256(names);
}

}  // namespace

ArtifactClient::ArtifactClient(Store& store, const Options& options)
    : store_(store),
      options_(options),
      partial_downloads_(options.partial_bytes != 0 ? options.partial_bytes : 2 * store.options().program_bytes) {}

void ArtifactClient::report(const Hash32& root, std::uint64_t tiles, std::uint64_t of) const {
    if (progress_) progress_({root, tiles, of});
}

Result<HttpConnection*, Failure> ArtifactClient::connection(const std::string& peer) {
    const auto found = connections_.find(peer);
    if (found != connections_.end()) return &found->second;
    RETRACE_TRY(url, parse_url(peer));
    if (connections_.size() >= kConnectionsMax) connections_.clear();
    return &connections_.emplace(peer, HttpConnection(std::move(url))).first->second;
}

Status<Failure> ArtifactClient::try_peer(const std::string& peer, const Attempt& attempt,
                                         std::chrono::milliseconds grace, std::uint64_t floor_rate) {
    const auto begin = PeerClock::now();
    auto opened = connection(peer);
    Status<Failure> done = Unexpected{Failure{}};
    if (opened) {
        Server server{peer, **opened, TimeAllowance(grace, floor_rate)};
        done = attempt(server);
    } else {
        done = Unexpected{opened.error()};
    }
    const auto now = PeerClock::now();
    if (done)
        backoff_.served(peer);
    else if (!is_local(done.error().fault) && (!is_no_blame(done.error().fault) || now - begin > kLong))
        backoff_.failed(peer, now, now - begin);
    return done;
}

Status<Failure> ArtifactClient::try_peers(const PeerList& peers, const Attempt& attempt,
                                          std::optional<std::uint64_t> last_rate) {
    Failure last{Fault::not_found, "no peer to ask"};
    if (!peers.empty()) last = {Fault::timeout, "all peers failed a moment ago and are skipped for a while"};
    std::chrono::milliseconds left = options_.deadline;  // for all others together
    // Whether the search ends with `done`.
    const auto ends = [&](const std::string& peer, std::chrono::milliseconds grace, std::uint64_t rate,
                          Status<Failure>& done) {
        if (over()) {
            done = failure(Fault::timeout, "the time for fetching is over; " + last.message);
            return true;
        }
        if (backoff_.is_backing_off(peer, PeerClock::now())) return false;
        done = try_peer(peer, attempt, backoff_.retrying(peer) ? grace / 4 : grace, rate);
        if (done || is_local(done.error().fault)) return true;
        last = std::move(done).error();
        return false;
    };
    Status<Failure> done = Unexpected{Failure{}};
    auto pause = options_.pause;
    for (unsigned round = 0; round < options_.rounds; ++round) {
        if (round > 0) {
            std::this_thread::sleep_for(pause);
            pause *= 2;
        }
        for (const std::string& peer : peers.first)
            if (ends(peer, options_.deadline, options_.floor_rate, done)) return done;
        for (const std::string& peer : peers.others) {
            if (left <= std::chrono::milliseconds::zero()) break;
            const auto begin = PeerClock::now();
            if (ends(peer, left, options_.floor_rate, done)) return done;
            left -= std::chrono::duration_cast<std::chrono::milliseconds>(PeerClock::now() - begin);
        }
    }
    if (!last_rate) return Unexpected{std::move(last)};
    // A peer that sends slowly on purpose takes all of the time that is left, so all were asked for more before.
    ask_again(peers.first);
    for (const std::string& peer : peers.first)
        if (ends(peer, options_.deadline, *last_rate, done)) return done;
    return Unexpected{std::move(last)};
}

void ArtifactClient::ask_again(const std::vector<std::string>& peers) {
    for (const std::string& peer : peers) backoff_.end_pause(peer, PeerClock::now());
}

Status<Failure> ArtifactClient::try_node(const std::string& node, const Upload& upload) {
    RETRACE_TRY(opened, connection(node));
    auto pause = options_.pause;
    for (unsigned round = 1;; ++round) {
        auto done = upload(*opened);
        if (done || is_local(done.error().fault) || round >= options_.rounds) return done;
        std::this_thread::sleep_for(pause);
        pause *= 2;
    }
}

Result<Bytes, Failure> ArtifactClient::get(Server& peer, const Hash32& root, const std::string& what, std::size_t limit,
                                           std::uint64_t bytes) {
    const HttpRequest request{"GET", "/artifact/" + to_hex(view(root)) + "/" + what, {}};
    const auto begin = PeerClock::now();
    auto reply = peer.connection.exchange(request, limit, options_.stop.ending_after(peer.allowance.allow(bytes)));
    peer.allowance.waited(PeerClock::now() - begin);
    if (!reply) return Unexpected{std::move(reply).error()};
    if (reply->status != 200) return Unexpected{read_refusal(*reply)};
    return std::move(reply->body);
}

Status<Failure> ArtifactClient::put(HttpConnection& peer, const Hash32& root, const std::string& what, Bytes body) {
    const HttpRequest request{"PUT", "/artifact/" + to_hex(view(root)) + "/" + what, std::move(body)};
    RETRACE_TRY(reply,
                peer.exchange(request, wire::kMessageBytesMax, kernels::StopToken::after(options_.upload_deadline)));
    if (reply.status != 204) return Unexpected{read_refusal(reply)};
    return Unit{};
}

Result<wire::Info, Failure> ArtifactClient::ask_info(HttpConnection& node, const Hash32& root) {
    const HttpRequest request{"GET", "/artifact/" + to_hex(view(root)) + "/info", {}};
    RETRACE_TRY(reply,
                node.exchange(request, wire::kMessageBytesMax, kernels::StopToken::after(options_.upload_deadline)));
    if (reply.status != 200) return Unexpected{read_refusal(reply)};
    return decoded_from_peer(wire::decode_info(reply.body));
}

Status<Failure> ArtifactClient::fetch_program(const PeerList& peers, const Hash32& root) {
    if (store_.has_program(root)) return Unit{};  // A program that is damaged here is fetched again.
    return try_peers(peers, [&](Server& peer) -> Status<Failure> {
        const bool is_first = std::find(peers.first.begin(), peers.first.end(), peer.url) != peers.first.end();
        RETRACE_TRY(bytes, pull_program(peer, root, is_first));
        RETRACE_CHECK(store_.add_program(root, bytes));
        partial_downloads_.forget(root);
        return Unit{};
    });
}

Result<Bytes, Failure> ArtifactClient::pull_program(Server& peer, const Hash32& root, bool is_first) {
    auto bytes = pull_pieces(peer, root, root, "program", "", store_.options().program_bytes, is_first);
    if (bytes && bytes->size() > store_.options().program_bytes)
        return failure(Fault::too_large, "the program file is too long");
    return bytes;
}

Result<Bytes, Failure> ArtifactClient::pull_pieces(Server& peer, const Hash32& root, const Hash32& key,
                                                   const char* name, const std::string& more, std::uint64_t bytes_max,
                                                   bool is_first) {
    Bytes bytes = partial_downloads_.take(key, peer.url);
    for (bool whole = false; !whole && bytes.size() <= bytes_max;) {
        const std::uint64_t count = std::min<std::uint64_t>(wire::kMessageBytesMax, bytes_max + 1 - bytes.size());
        const std::string what =
            std::string(name) + "?at=" + std::to_string(bytes.size()) + "&count=" + std::to_string(count) + more;
        const auto piece = get(peer, root, what, wire::kMessageBytesMax, count);
        if (!piece) {
            partial_downloads_.keep(key, peer.url, std::move(bytes), is_first);
            return Unexpected{piece.error()};
        }
        whole = piece->size() < count;
        bytes.insert(bytes.end(), piece->begin(), piece->end());
    }
    return bytes;
}

Status<Failure> ArtifactClient::fetch_packed(const PeerList& peers, const std::vector<Hash32>& roots,
                                             std::uint64_t bytes_max,
                                             const std::function<Status<Failure>(View)>& accept) {
    const Hash32 &root = roots.front(), key = roots.size() == 1 ? root : key_of(roots);
    std::string more;
    for (std::size_t i = 1; i < roots.size(); ++i) more += (i == 1 ? "&then=" : ",") + to_hex(view(roots[i]));
    return try_peers(peers, [&](Server& peer) -> Status<Failure> {
        const bool is_first = std::find(peers.first.begin(), peers.first.end(), peer.url) != peers.first.end();
        RETRACE_TRY(bytes, pull_pieces(peer, root, key, "packed", more, bytes_max, is_first));
        RETRACE_CHECK(accept(bytes));
        partial_downloads_.forget(key);
        return Unit{};
    });
}

Status<Failure> ArtifactClient::fetch_tensor(const PeerList& peers, const Hash32& root, const kernels::Tensor* earlier,
                                             const kernels::TensorRecord* record) {
    if (const auto here = store_.info(root)) {
        RETRACE_CHECK(check_shape(root, here->header, record));
        if (here->complete) return Unit{};
    }
    return try_peers(
        peers, [&](Server& peer) { return pull_tensor(peer, root, earlier, record); }, slow_rate_);
}

Status<Failure> ArtifactClient::pull_tensor(Server& peer, const Hash32& root, const kernels::Tensor* earlier,
                                            const kernels::TensorRecord* record) {
    auto here = store_.info(root);
    if (!here && here.error().fault == Fault::corrupt) here = store_.info(root);  // The damaged file was set aside.
    if (!here) {
        if (here.error().fault != Fault::not_found) return Unexpected{here.error()};
        RETRACE_TRY(body, get(peer, root, "info", wire::kMessageBytesMax));
        RETRACE_TRY(there, decoded_from_peer(wire::decode_info(body)));
        if (there.kind != wire::Kind::tensor) return failure(Fault::not_found, "the peer has no such tensor");
        if (there.header.root() == root) RETRACE_CHECK(check_shape(root, there.header, record));
        RETRACE_CHECK(store_.begin_tensor(root, there.header));
        here = store_.info(root);
        RETRACE_CHECK(here);
    }
    const std::uint64_t tiles = tile_count(here->header);
    if (earlier != nullptr && !here->complete) {
        const auto taken = take_equal_tiles(peer, root, here->header, *earlier);
        if (!taken && is_local(taken.error().fault)) return taken;  // Otherwise all tiles are fetched.
        here = store_.info(root);
        RETRACE_CHECK(here);
    }
    std::uint64_t ask = kFirstTiles;
    while (!here->complete) {
        std::uint64_t left = total(here->missing);
        for (wire::Range gap : here->missing) {
            while (gap.count > 0) {
                const std::uint64_t before = gap.count;
                RETRACE_CHECK(pull_tiles(peer, root, wire::tile_bytes(here->header.dtype), gap, ask));
                left -= before - gap.count;
                report(root, tiles - left, tiles);
            }
        }
        here = store_.info(root);
        RETRACE_CHECK(here);
    }
    return Unit{};
}

Status<Failure> ArtifactClient::pull_tiles(Server& peer, const Hash32& root, std::uint64_t tile_bytes, wire::Range& gap,
                                           std::uint64_t& ask) {
    const std::uint64_t count = std::min(gap.count, ask);
    const std::string what = "tiles?first=" + std::to_string(gap.first) + "&count=" + std::to_string(count);
    const auto begin = PeerClock::now();
    RETRACE_TRY(body, get(peer, root, what, wire::kMessageBytesMax, count * tile_bytes));
    const auto waited = PeerClock::now() - begin;
    RETRACE_TRY(range, decoded_from_peer(wire::decode_tile_range(body)));
    // Other tiles than those requested, even correct ones, or fewer, would let a peer keep us busy for ever.
    if (range.first != gap.first || range.count() != count) {
        return failure(Fault::malformed, "the peer sent other tiles than those asked for");
    }
    RETRACE_CHECK(store_.add_tiles(root, range));
    tiles_fetched_ += count;
    gap.first += count;
    gap.count -= count;
    if (waited < kQuick)
        ask = std::min(2 * ask, wire::kRangeTilesMax);
    else if (waited > kLong)
        ask = std::max(ask / 2, kFirstTiles);
    return Unit{};
}

Status<Failure> ArtifactClient::take_equal_tiles(Server& peer, const Hash32& root, const kernels::TensorHeader& header,
                                                 const kernels::Tensor& earlier) {
    const std::uint64_t tiles = tile_count(header);
    if (earlier.dtype != header.dtype || earlier.dims != header.dims || tiles == 0) return Unit{};
    std::vector<Hash32> leaves(tiles);
    for (std::uint64_t first = 0; first < tiles; first += kLeavesMax) {
        const std::uint64_t count = std::min(kLeavesMax, tiles - first);
        const std::string what = "leaves?first=" + std::to_string(first) + "&count=" + std::to_string(count);
        RETRACE_TRY(body, get(peer, root, what, 32 * count, 32 * count));
        if (body.size() != 32 * count) return failure(Fault::malformed, "the peer sent another number of hashes");
        for (std::uint64_t i = 0; i < count; ++i)
            std::copy_n(body.begin() + static_cast<std::ptrdiff_t>(32 * i), 32, leaves[first + i].bytes.begin());
    }
    kernels::ThreadPool pool(1);
    const std::vector<Hash32> own = kernels::tile_leaves(earlier.data.data(), earlier.dtype, earlier.dims, pool);
    const merkle::TileTree tree(leaves);
    if (tree.root() != header.tree_root) return failure(Fault::wrong_proof, "the peer's hashes are another tensor's");
    for (std::uint64_t first = 0; first < tiles;) {
        std::uint64_t last = first;
        while (last < tiles && last - first < wire::kRangeTilesMax && own[last] == leaves[last]) ++last;
        if (last > first) {
            RETRACE_TRY(range, cut_range(header, earlier.data.data(), tree, first, last - first));
            RETRACE_CHECK(store_.add_tiles(root, range));
        }
        first = std::max(last, first + 1);
    }
    return Unit{};
}

Status<Failure> ArtifactClient::fetch_manifest(const PeerList& peers, const Hash32& state_root) {
    if (store_.manifest(state_root)) return Unit{};
    return try_peers(peers, [&](Server& peer) -> Status<Failure> {
        RETRACE_TRY(body, get(peer, state_root, "state", wire::kMessageBytesMax));
        RETRACE_TRY(sent, decoded_from_peer(wire::decode_state_manifest(body)));
        return store_.add_manifest(state_root, sent);
    });
}

Status<Failure> ArtifactClient::fetch_state(const PeerList& peers, const Hash32& root) {
    RETRACE_CHECK(fetch_manifest(peers, root));
    RETRACE_TRY(manifest, store_.manifest(root));
    for (const Hash32& tensor : manifest.tensor_roots) RETRACE_CHECK(fetch_tensor(peers, tensor));
    return Unit{};
}

Status<Failure> ArtifactClient::upload_program(const std::string& peer, const Hash32& root) {
    RETRACE_TRY(file, store_.program_file(root));
    return try_node(peer, [&](HttpConnection& node) -> Status<Failure> {
        constexpr std::size_t kPiece = std::size_t{4} << 20;
        RETRACE_TRY(there, ask_info(node, root));
        if (there.complete) return Unit{};
        if (file.size() <= kPiece) return put(node, root, "program", file);
        const std::string upload = random_name();
        for (std::size_t at = 0; at < file.size(); at += kPiece) {
            const View piece = View(file).subspan(at, std::min(kPiece, file.size() - at));
            const std::string what =
                "program?at=" + std::to_string(at) + "&of=" + std::to_string(file.size()) + "&upload=" + upload;
            RETRACE_CHECK(put(node, root, what, to_bytes(piece)));
        }
        return Unit{};
    });
}

Status<Failure> ArtifactClient::push_range(HttpConnection& peer, const Hash32& root, const wire::Range& range) {
    RETRACE_TRY(tiles, store_.tiles(root, range.first, range.count));
    return put(peer, root, "tiles", wire::encode(tiles));
}

Status<Failure> ArtifactClient::upload_tensor(const std::string& peer, const Hash32& root) {
    RETRACE_TRY(here, store_.info(root));
    if (!here.complete) return failure(Fault::incomplete, "tensor " + to_hex(view(root)) + " has not fully arrived");
    const std::uint64_t tiles = tile_count(here.header);
    return try_node(peer, [&](HttpConnection& node) -> Status<Failure> {
        RETRACE_TRY(there, ask_info(node, root));
        if (there.kind == wire::Kind::unknown && tiles == 0) {
            return put(node, root, "tiles", wire::encode(wire::TileRange{here.header, 0, {}, {}}));
        }
        if (there.kind == wire::Kind::unknown) there.missing = {{0, tiles}};
        while (!there.complete) {
            std::uint64_t left = total(there.missing);
            if (left == 0 || left > tiles) return failure(Fault::malformed, "the node does not say what is missing");
            for (wire::Range gap : there.missing) {
                while (gap.count > 0) {
                    const std::uint64_t size = std::min(gap.count, wire::kRangeTilesMax);
                    RETRACE_CHECK(push_range(node, root, {gap.first, size}));
                    gap.first += size;
                    gap.count -= size;
                    left -= size;
                    report(root, tiles - left, tiles);
                }
            }
            const std::uint64_t before = total(there.missing);
            RETRACE_TRY(now, ask_info(node, root));
            // It names the first gaps only: if there are more, the first one moves on instead.
            const bool goes_on = !now.missing.empty() && now.missing.front().first > there.missing.front().first;
            if (!now.complete && total(now.missing) >= before && !goes_on) {
                return failure(Fault::refused, "the node does not keep what it is sent");
            }
            there = std::move(now);
        }
        return Unit{};
    });
}

Status<Failure> ArtifactClient::upload_state(const std::string& peer, const Hash32& root) {
    RETRACE_TRY(manifest, store_.manifest(root));
    RETRACE_CHECK(try_node(peer, [&](HttpConnection& node) -> Status<Failure> {
        RETRACE_TRY(there, ask_info(node, root));
        if (there.kind == wire::Kind::state) return Unit{};
        return put(node, root, "state", wire::encode(manifest));
    }));
    for (const Hash32& tensor : manifest.tensor_roots) RETRACE_CHECK(upload_tensor(peer, tensor));
    return Unit{};
}

}  // namespace retrace::node
