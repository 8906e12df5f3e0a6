// SPDX-License-Identifier: MIT
// Objects that the parts of one simulated run share. Runs share nothing with each other but the read-only catalogue.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "kernels/runtime/thread_pool.hpp"
#include "market/params.hpp"
#include "node/agents/views.hpp"
#include "solver/artifacts/artifact_source.hpp"
#include "tests/simulation/catalogue.hpp"
#include "tests/simulation/clock.hpp"
#include "tests/simulation/group_truth.hpp"
#include "tests/simulation/host.hpp"
#include "tests/simulation/machine.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/trace.hpp"

namespace retrace::sim {

class Party;

constexpr NodeId kHostNode = 0;
constexpr std::uint64_t kChainId = 7298;
constexpr Millis kBlockMillis = 1000;

/// Uploads of requesters to the node's artifact store.
struct Uploads {
    std::map<Hash32, Bytes> programs;
    std::map<Hash32, kernels::Tensor> tensors;
};

struct World {
    World(Random& random, const Catalogue& catalogue, const market::Params& params, const Costs& costs,
          const ledger::Genesis& genesis, const ledger::TxExecutor& executor, HostOptions host_options,
          NetworkLimits limits, Trace::Sink sink, std::filesystem::path folder)
        : catalogue(catalogue),
          params(params),
          costs(costs),
          executor(executor),
          network(random.fork("network"), limits),
          host(genesis, executor, std::move(host_options), random.fork("host")),
          random(random.fork("world")),
          trace(std::move(sink)),
          folder(std::move(folder)) {}

    const Catalogue& catalogue;
    const market::Params& params;
    const Costs costs;
    const ledger::TxExecutor& executor;
    Clock clock;
    Network network;
    Host host;
    Random random;
    Trace trace;
    std::filesystem::path folder;  ///< Holds the disks of all parties.
    kernels::ThreadPool pool{1};
    node::Immutable immutable;
    Uploads uploads;
    SentTensors sent;                             ///< By members of groups,
    SentMasks masks;                              ///< and the masks over their messages.
    std::vector<std::unique_ptr<Party>> parties;  ///< Party i is node i + 1.
};

/// Fetches artifacts for a party: from its own disk, the node and other parties, over the network. Tiles with a wrong
/// hash are dropped, as the real transfer does.
class NetworkSource final : public solver::ArtifactSource {
public:
    NetworkSource(World& world, NodeId self) : world_(world), self_(self) {}
    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override;
    Result<solver::StateRoots> state(const Hash32& root) override;
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) override;
    Result<kernels::Tensor> message_tensor(const Hash32& root, const kernels::TensorRecord& record, std::uint64_t task,
                                           std::uint32_t run) override;

private:
    /// Sends a request and waits for its answer, with a few retries.
    bool reach(NodeId server);

    World& world_;
    NodeId self_;
};

}  // namespace retrace::sim
