// SPDX-License-Identifier: MIT
#include "node/artifacts/peer_source.hpp"

namespace retrace::node {
namespace {

template <class T>
Result<T> in_words(Result<T, Failure> result) {
    if (result) return std::move(result).value();
    return error(std::string(slug(result.error().fault)) + ": " + result.error().message);
}

}  // namespace

PeerSource::PeerSource(Store& store, ArtifactClient& client, Peers peers)
    : store_(store), client_(client), peers_(std::move(peers)) {}

Result<Bytes> PeerSource::program(const Hash32& root, std::uint64_t limit) {
    RETRACE_CHECK(in_words(client_.fetch_program(peers_(), root)));
    RETRACE_TRY(file, in_words(store_.program_file(root)));
    if (file.size() > limit)
        return error("too_large: the program has " + std::to_string(file.size()) + " bytes");
    return file;
}

Result<solver::StateRoots> PeerSource::state(const Hash32& root) {
    RETRACE_CHECK(in_words(client_.fetch_manifest(peers_(), root)));
    RETRACE_TRY(manifest, in_words(store_.manifest(root)));
    kernels::StateCommitment commitment{
        {manifest.contract, manifest.program, manifest.step, {}}, std::move(manifest.tensor_roots), root};
    commitment.header.tree_root = commitment.tree().root();
    return solver::StateRoots{commitment.header, std::move(commitment.tensor_roots)};
}

Result<kernels::Tensor> PeerSource::tensor(const Hash32& root) {
    RETRACE_CHECK(in_words(client_.fetch_tensor(peers_(), root)));
    return in_words(store_.tensor(root));
}

}  // namespace retrace::node
