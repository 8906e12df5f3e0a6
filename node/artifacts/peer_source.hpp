// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node/artifacts/client.hpp"
#include "solver/artifacts/artifact_source.hpp"

namespace retrace::node {

/// Artifacts out of the local store, fetched from peers first when they are not there. Blocks; one thread at
/// a time.
class PeerSource : public solver::ArtifactSource {
public:
    /// Who to ask now, best first: "http://host:port". Asked again for every artifact.
    using Peers = std::function<std::vector<std::string>()>;

    /// Both outlive the source.
    PeerSource(Store& store, ArtifactClient& client, Peers peers);

    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override;
    Result<solver::StateRoots> state(const Hash32& root) override;
    Result<kernels::Tensor> tensor(const Hash32& root) override;

private:
    Store& store_;
    ArtifactClient& client_;
    Peers peers_;
};

}  // namespace retrace::node
