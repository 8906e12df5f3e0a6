// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "node/artifacts/client.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::node {

/// Artifacts out of the local store, fetched from peers first when they are not there. Blocks; one thread at
/// a time.
class PeerSource : public solver::ArtifactSource {
public:
    /// Who to ask now, best first: "http://host:port". Asked again for every artifact.
    using Peers = std::function<std::vector<std::string>()>;

    /// Both outlive the source.
    PeerSource(Store& store, ArtifactClient& client, Peers peers);

    /// The party's own checkpoints, which outlive the source: what is there is not fetched, and of a tensor
    /// whose earlier version is there only the tiles that changed.
    void add_own(const solver::CheckpointStore& own) { own_ = &own; }

    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override;
    Result<solver::StateRoots> state(const Hash32& root) override;
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) override;
    std::uint64_t first_missing_tile(const Hash32& root) override;

private:
    Store& store_;
    ArtifactClient& client_;
    Peers peers_;
    const solver::CheckpointStore* own_ = nullptr;
    kernels::ThreadPool pool_{1};
    /// Of the tensors of states that were asked for: program and number, to find earlier versions.
    std::map<Hash32, std::pair<Hash32, std::size_t>> places_;
};

}  // namespace retrace::node
