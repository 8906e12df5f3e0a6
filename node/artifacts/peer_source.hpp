// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "node/artifacts/message_downloads.hpp"
#include "solver/agent/work.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "solver/rounds/message_store.hpp"

namespace retrace::node {

/// Reads artifacts from the local store, after fetching missing ones from peers. Calls block; only one thread at a time
/// may use it.
class PeerSource : public solver::ArtifactSource {
public:
    /// Returns the peers to ask now. Called for every artifact.
    using Peers = std::function<PeerList()>;

    /// Both outlive the source.
    PeerSource(Store& store, ArtifactClient& client, Peers peers);

    /// Adds the party's own checkpoints, which outlive the source. Artifacts in them are not fetched, and of a tensor
    /// with an earlier version there only the changed tiles are.
    void add_own(const solver::CheckpointStore& own) { own_ = &own; }

    /// Whom to ask for a message of a run; without it the tensors of messages are fetched like all others.
    using Authors = std::function<PeerList(const solver::RunKey& author)>;
    void ask_authors(Authors authors) { authors_ = std::move(authors); }
    /// Adds the party's own store of messages, which outlives the source.
    void add_messages(solver::MessageStore& messages) { messages_ = &messages; }

    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override;
    Result<solver::StateRoots> state(const Hash32& root) override;
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) override;
    Result<kernels::Tensor> message_tensor(const Hash32& root, const kernels::TensorRecord& record, std::uint64_t task,
                                           std::uint32_t run) override;
    void messages(const std::vector<solver::MessageRequest>& requests, const solver::MessageRecords& records,
                  const solver::MessageArrived& arrived) override;
    std::uint64_t first_missing_tile(const Hash32& root) override;

private:
    using Tensors = std::vector<std::optional<kernels::Tensor>>;
    /// What is not here of a message; its parts write into `out`. All arguments outlive the download.
    MessageDownloads::Download download_of(const solver::MessageRequest& request, const solver::MessageRecords& records,
                                           Tensors& out);

    Store& store_;
    ArtifactClient& client_;
    Peers peers_;
    Authors authors_;
    const solver::CheckpointStore* own_ = nullptr;
    solver::MessageStore* messages_ = nullptr;
    MessageDownloads downloads_;
    kernels::ThreadPool pool_{1};
    /// Program and tensor number for the tensors of requested states, used to find earlier versions.
    std::map<Hash32, std::pair<Hash32, std::size_t>> places_;
};

}  // namespace retrace::node
