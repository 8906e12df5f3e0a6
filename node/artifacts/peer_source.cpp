// SPDX-License-Identifier: MIT
#include "node/artifacts/peer_source.hpp"

#include <algorithm>
#include <utility>

#include "node/artifacts/tensor_layout.hpp"
#include "solver/artifacts/packed_tensor.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kPlacesMax = 1 << 16;

template <class T>
Result<T> in_words(Result<T, Failure> result) {
    if (result) return std::move(result).value();
    return error(std::string(slug(result.error().fault)) + ": " + result.error().message);
}

}  // namespace

PeerSource::PeerSource(Store& store, ArtifactClient& client, Peers peers)
    : store_(store), client_(client), peers_(std::move(peers)), downloads_(store, client.options()) {}

Result<Bytes> PeerSource::program(const Hash32& root, std::uint64_t limit) {
    RETRACE_CHECK(in_words(client_.fetch_program(peers_(), root)));
    RETRACE_TRY(file, in_words(store_.program_file(root)));
    if (file.size() > limit) return error("too_large: the program has " + std::to_string(file.size()) + " bytes");
    return file;
}

Result<solver::StateRoots> PeerSource::state(const Hash32& root) {
    RETRACE_CHECK(in_words(client_.fetch_manifest(peers_(), root)));
    RETRACE_TRY(manifest, in_words(store_.manifest(root)));
    kernels::StateCommitment commitment{
        {manifest.contract, manifest.program, manifest.step, {}}, std::move(manifest.tensor_roots), root};
    commitment.header.tree_root = commitment.tree().root();
    if (places_.size() > kPlacesMax) places_.clear();
    for (std::size_t i = 0; i < commitment.tensor_roots.size(); ++i)
        places_[commitment.tensor_roots[i]] = {commitment.header.program, i};
    return solver::StateRoots{commitment.header, std::move(commitment.tensor_roots)};
}

Result<kernels::Tensor> PeerSource::tensor(const Hash32& root, const kernels::TensorRecord& record) {
    if (own_ != nullptr) {
        if (auto here = own_->tensor(root, pool_)) return std::move(here).value();
    }
    std::optional<kernels::Tensor> earlier;
    const auto place = places_.find(root);
    if (own_ != nullptr && place != places_.end()) {
        const auto version = own_->newest_version(place->second.first, place->second.second);
        auto tensor = version ? own_->tensor(*version, pool_) : Result<kernels::Tensor>(error("no version"));
        if (tensor) earlier = std::move(tensor).value();
    }
    RETRACE_CHECK(in_words(client_.fetch_tensor(peers_(), root, earlier ? &*earlier : nullptr, &record)));
    return in_words(store_.tensor(root));
}

Result<kernels::Tensor> PeerSource::message_tensor(const Hash32& root, const kernels::TensorRecord& record,
                                                   std::uint64_t task, std::uint32_t run) {
    if (messages_ != nullptr) {
        if (auto here = messages_->tensor(root, record, pool_)) return here;
    }
    if (!authors_) return tensor(root, record);
    Result<kernels::Tensor> out = error("not fetched");
    const auto accept = [&](View bytes) -> Status<Failure> {
        out = solver::from_transport_form(bytes, record);
        if (!out) return failure(Fault::malformed, out.error().message);
        const auto right = solver::check_fetched(*out, record, root, pool_);
        if (!right) return failure(Fault::wrong_root, right.error().message);
        return Unit{};
    };
    RETRACE_CHECK(
        in_words(client_.fetch_packed(authors_({task, run}), {root}, solver::transport_bytes_max(record), accept)));
    return out;
}

MessageDownloads::Download PeerSource::download_of(const solver::MessageRequest& request,
                                                   const solver::MessageRecords& records, Tensors& out) {
    MessageDownloads::Download download{request.run, {}, {}, [&out] { std::ranges::fill(out, std::nullopt); }};
    std::vector<std::size_t> missing;
    const auto add_part = [&] {
        if (missing.empty()) return;
        MessageDownloads::Part& part = download.parts.emplace_back();
        for (const std::size_t i : missing) {
            part.roots.push_back(request.roots[i]);
            part.bytes_max += solver::transport_bytes_max(*records[i]);
        }
        // A wrong tensor is left to message_tensor, which blames the peer for it and asks others.
        part.accept = [&out, &request, &records, places = std::exchange(missing, {})](
                          View bytes, kernels::ThreadPool& pool) -> Status<Failure> {
            for (const std::size_t i : places) {
                const auto length = solver::transport_bytes(bytes, *records[i]);
                if (!length) return failure(Fault::malformed, length.error().message);
                auto tensor = solver::from_transport_form(bytes.first(*length), *records[i]);
                bytes = bytes.subspan(*length);
                if (tensor && solver::check_fetched(*tensor, *records[i], request.roots[i], pool))
                    out[i] = std::move(tensor).value();
            }
            if (!bytes.empty())
                return failure(Fault::malformed, std::to_string(bytes.size()) + " bytes after the tensors");
            return Unit{};
        };
    };
    for (std::size_t i = 0; i < request.roots.size(); ++i) {
        if (messages_ != nullptr && messages_->tensor(request.roots[i], *records[i], pool_)) continue;
        missing.push_back(i);
        if (missing.size() == kPackedTensorsMax) add_part();
    }
    add_part();
    return download;
}

void PeerSource::messages(const std::vector<solver::MessageRequest>& requests, const solver::MessageRecords& records,
                          const solver::MessageArrived& arrived) {
    std::vector<Tensors> tensors(requests.size());
    // What is here is read when the rest has arrived: of many messages it would fill the memory before.
    const auto end = [&](std::size_t place) {
        Tensors out = std::move(tensors[place]);
        for (std::size_t i = 0; i < out.size() && messages_ != nullptr; ++i) {
            if (out[i]) continue;
            if (auto here = messages_->tensor(requests[place].roots[i], *records[i], pool_)) out[i] = std::move(*here);
        }
        arrived(place, std::move(out));
    };
    std::vector<MessageDownloads::Download> downloads;
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < requests.size(); ++place) {
        const solver::MessageRequest& request = requests[place];
        tensors[place].resize(request.roots.size());
        MessageDownloads::Download download = download_of(request, records, tensors[place]);
        if (!authors_ || download.parts.empty()) {
            end(place);
            continue;
        }
        download.peers = authors_({request.task, request.run});
        downloads.push_back(std::move(download));
        places.push_back(place);
    }
    downloads_.fetch(downloads, [&](std::size_t i) { end(places[i]); });
}

std::uint64_t PeerSource::first_missing_tile(const Hash32& root) {
    const auto here = store_.info(root);
    return here && !here->missing.empty() ? here->missing.front().first : 0;
}

}  // namespace retrace::node
