// SPDX-License-Identifier: MIT
#include "node/artifacts/client.hpp"

#include <algorithm>
#include <thread>

#include "node/artifacts/tensor_layout.hpp"

namespace retrace::node {
namespace {

std::uint64_t tile_count(const kernels::TensorHeader& header) {
    return kernels::geometry(header.dims).tiles();
}

std::uint64_t total(const std::vector<wire::Range>& ranges) {
    std::uint64_t out = 0;
    for (const wire::Range& range : ranges) out += range.count;
    return out;
}

/// No other peer can help against these.
bool is_local(Fault fault) noexcept {
    return fault == Fault::io || fault == Fault::no_space || fault == Fault::in_use;
}

/// What a peer's refusal means for us; a slug that we do not know is `refused`.
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
Result<T, Failure> decoded(Result<T, wire::WireError> result) {
    if (result) return std::move(result).value();
    return failure(Fault::malformed,
                   "the peer's message is refused: " + std::string(wire::slug(result.error())));
}

}  // namespace

ArtifactClient::ArtifactClient(Store& store, const Options& options) : store_(store), options_(options) {}

void ArtifactClient::report(const Hash32& root, std::uint64_t tiles, std::uint64_t of) const {
    if (progress_) progress_({root, tiles, of});
}

Result<HttpConnection*, Failure> ArtifactClient::connection(const std::string& peer) {
    const auto found = connections_.find(peer);
    if (found != connections_.end()) return &found->second;
    RETRACE_TRY(url, parse_url(peer));
    return &connections_.emplace(peer, HttpConnection(std::move(url))).first->second;
}

Status<Failure> ArtifactClient::try_peers(const std::vector<std::string>& peers, const Attempt& attempt) {
    Failure last{Fault::not_found, "no peer to ask"};
    auto pause = options_.pause;
    for (unsigned round = 0; round < options_.rounds; ++round) {
        if (round > 0) {
            std::this_thread::sleep_for(pause);
            pause *= 2;
        }
        for (const std::string& peer : peers) {
            auto opened = connection(peer);
            auto done = opened ? attempt(**opened) : Status<Failure>(Unexpected{opened.error()});
            if (done || is_local(done.error().fault)) return done;
            last = std::move(done).error();
        }
    }
    return Unexpected{std::move(last)};
}

Result<Bytes, Failure> ArtifactClient::get(HttpConnection& peer, const Hash32& root, const std::string& what,
                                           std::size_t limit) {
    const HttpRequest request{"GET", "/artifact/" + to_hex(view(root)) + "/" + what, {}};
    RETRACE_TRY(reply, peer.exchange(request, limit, options_.deadline));
    if (reply.status != 200) return Unexpected{read_refusal(reply)};
    return std::move(reply.body);
}

Status<Failure> ArtifactClient::put(HttpConnection& peer, const Hash32& root, const std::string& what,
                                    Bytes body) {
    const HttpRequest request{"PUT", "/artifact/" + to_hex(view(root)) + "/" + what, std::move(body)};
    RETRACE_TRY(reply, peer.exchange(request, wire::kMessageBytesMax, options_.deadline));
    if (reply.status != 204) return Unexpected{read_refusal(reply)};
    return Unit{};
}

Result<wire::Info, Failure> ArtifactClient::ask_info(HttpConnection& peer, const Hash32& root) {
    RETRACE_TRY(body, get(peer, root, "info", wire::kMessageBytesMax));
    return decoded(wire::decode_info(body));
}

Status<Failure> ArtifactClient::fetch_program(const std::vector<std::string>& peers, const Hash32& root) {
    if (store_.program_file(root)) return Unit{};
    return try_peers(peers, [&](HttpConnection& peer) -> Status<Failure> {
        RETRACE_TRY(file, get(peer, root, "program", store_.options().program_bytes));
        return store_.add_program(root, file);
    });
}

Status<Failure> ArtifactClient::fetch_tensor(const std::vector<std::string>& peers, const Hash32& root,
                                             const kernels::Tensor* earlier) {
    if (const auto here = store_.info(root); here && here->complete) return Unit{};
    return try_peers(peers, [&](HttpConnection& peer) { return pull_tensor(peer, root, earlier); });
}

Status<Failure> ArtifactClient::pull_tensor(HttpConnection& peer, const Hash32& root,
                                            const kernels::Tensor* earlier) {
    auto here = store_.info(root);
    if (!here) {
        if (here.error().fault != Fault::not_found) return Unexpected{here.error()};
        RETRACE_TRY(there, ask_info(peer, root));
        if (there.kind != wire::Kind::tensor) return failure(Fault::not_found, "the peer has no such tensor");
        RETRACE_CHECK(store_.begin_tensor(root, there.header));
        here = store_.info(root);
        RETRACE_CHECK(here);
    }
    const std::uint64_t tiles = tile_count(here->header);
    if (earlier != nullptr && !here->complete) {
        const auto taken = take_equal_tiles(peer, root, here->header, *earlier);
        if (!taken && is_local(taken.error().fault)) return taken;  // Else everything travels.
        here = store_.info(root);
        RETRACE_CHECK(here);
    }
    while (!here->complete) {
        std::uint64_t left = total(here->missing);
        for (wire::Range gap : here->missing) {
            while (gap.count > 0) {
                const std::uint64_t ask = std::min(gap.count, wire::kRangeTilesMax);
                RETRACE_TRY(body,
                            get(peer, root,
                                "tiles?first=" + std::to_string(gap.first) + "&count=" + std::to_string(ask),
                                wire::kMessageBytesMax));
                RETRACE_TRY(range, decoded(wire::decode_tile_range(body)));
                // Other tiles than those asked for, even true ones, would let a peer keep us busy for ever.
                if (range.first != gap.first || range.tiles.empty() || range.count() > ask) {
                    return failure(Fault::malformed, "the peer sent other tiles than those asked for");
                }
                RETRACE_CHECK(store_.add_tiles(root, range));
                tiles_fetched_ += range.count();
                gap.first += range.count();
                gap.count -= range.count();
                left -= range.count();
                report(root, tiles - left, tiles);
            }
        }
        here = store_.info(root);
        RETRACE_CHECK(here);
    }
    return Unit{};
}

Status<Failure> ArtifactClient::take_equal_tiles(HttpConnection& peer, const Hash32& root,
                                                 const kernels::TensorHeader& header,
                                                 const kernels::Tensor& earlier) {
    const std::uint64_t tiles = tile_count(header);
    if (earlier.dtype != header.dtype || earlier.dims != header.dims || tiles == 0) return Unit{};
    std::vector<Hash32> leaves(tiles);
    for (std::uint64_t first = 0; first < tiles; first += kLeavesMax) {
        const std::uint64_t count = std::min(kLeavesMax, tiles - first);
        const std::string what = "leaves?first=" + std::to_string(first) + "&count=" + std::to_string(count);
        RETRACE_TRY(body, get(peer, root, what, 32 * count));
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

Status<Failure> ArtifactClient::fetch_manifest(const std::vector<std::string>& peers,
                                               const Hash32& state_root) {
    if (store_.manifest(state_root)) return Unit{};
    return try_peers(peers, [&](HttpConnection& peer) -> Status<Failure> {
        RETRACE_TRY(body, get(peer, state_root, "state", wire::kMessageBytesMax));
        RETRACE_TRY(sent, decoded(wire::decode_state_manifest(body)));
        return store_.add_manifest(state_root, sent);
    });
}

Status<Failure> ArtifactClient::fetch_state(const std::vector<std::string>& peers, const Hash32& root) {
    RETRACE_CHECK(fetch_manifest(peers, root));
    RETRACE_TRY(manifest, store_.manifest(root));
    for (const Hash32& tensor : manifest.tensor_roots) RETRACE_CHECK(fetch_tensor(peers, tensor));
    return Unit{};
}

Status<Failure> ArtifactClient::upload_program(const std::string& peer, const Hash32& root) {
    RETRACE_TRY(file, store_.program_file(root));
    return try_peers({peer}, [&](HttpConnection& node) -> Status<Failure> {
        constexpr std::size_t kPiece = std::size_t{4} << 20;
        RETRACE_TRY(there, ask_info(node, root));
        if (there.complete) return Unit{};
        if (file.size() <= kPiece) return put(node, root, "program", file);
        for (std::size_t at = 0; at < file.size(); at += kPiece) {
            const View piece = View(file).subspan(at, std::min(kPiece, file.size() - at));
            const std::string what = "program?at=" + std::to_string(at) + "&of=" + std::to_string(file.size());
            RETRACE_CHECK(put(node, root, what, to_bytes(piece)));
        }
        return Unit{};
    });
}

Status<Failure> ArtifactClient::push_range(HttpConnection& peer, const Hash32& root,
                                           const wire::Range& range) {
    RETRACE_TRY(tiles, store_.tiles(root, range.first, range.count));
    return put(peer, root, "tiles", wire::encode(tiles));
}

Status<Failure> ArtifactClient::upload_tensor(const std::string& peer, const Hash32& root) {
    RETRACE_TRY(here, store_.info(root));
    if (!here.complete)
        return failure(Fault::incomplete, "tensor " + to_hex(view(root)) + " has not fully arrived");
    const std::uint64_t tiles = tile_count(here.header);
    return try_peers({peer}, [&](HttpConnection& node) -> Status<Failure> {
        RETRACE_TRY(there, ask_info(node, root));
        if (there.kind == wire::Kind::unknown && tiles == 0) {
            return put(node, root, "tiles", wire::encode(wire::TileRange{here.header, 0, {}, {}}));
        }
        if (there.kind == wire::Kind::unknown) there.missing = {{0, tiles}};
        while (!there.complete) {
            std::uint64_t left = total(there.missing);
            if (left == 0 || left > tiles)
                return failure(Fault::malformed, "the node does not say what is missing");
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
            if (!now.complete && total(now.missing) >= before) {
                return failure(Fault::refused, "the node does not keep what it is sent");
            }
            there = std::move(now);
        }
        return Unit{};
    });
}

Status<Failure> ArtifactClient::upload_state(const std::string& peer, const Hash32& root) {
    RETRACE_TRY(manifest, store_.manifest(root));
    RETRACE_CHECK(try_peers({peer}, [&](HttpConnection& node) -> Status<Failure> {
        RETRACE_TRY(there, ask_info(node, root));
        if (there.kind == wire::Kind::state) return Unit{};
        return put(node, root, "state", wire::encode(manifest));
    }));
    for (const Hash32& tensor : manifest.tensor_roots) RETRACE_CHECK(upload_tensor(peer, tensor));
    return Unit{};
}

}  // namespace retrace::node
