// SPDX-License-Identifier: MIT
// What a solver and a verifier process share: the connection to a node, the key, the stores, the artifact
// server.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "node/agents/submitter.hpp"
#include "node/agents/views.hpp"
#include "node/agents/workers.hpp"
#include "node/artifacts/garbage_collector.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/artifacts/peer_source.hpp"
#include "node/artifacts/provider.hpp"
#include "solver/agent/work.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::node {

struct AgentOptions {
    std::string node_url = "http://127.0.0.1:8545";
    std::filesystem::path data_dir;
    std::string listen = "127.0.0.1";  ///< Where artifacts are served.
    std::uint16_t port = 0;            ///< 0: the system chooses.
    std::string endpoint;              ///< As others reach it; empty: http://listen:port.
    ledger::U256 stake;                ///< Bonded at the start when less is there; zero: the chain's minimum.
    unsigned threads = 0;              ///< Of the kernels; 0: as many as the machine has.
    std::uint64_t memory = 0;          ///< Bytes that tasks may take; 0: three quarters of what the process may have.
    std::chrono::milliseconds poll{50};  ///< Between looks at the chain.
    std::uint64_t retention_blocks = 5'000;  ///< What a task needed is deleted so long after it was needed.
    bool require_sandbox = false;  ///< Tasks run in a sandbox or not at all.
    std::optional<std::chrono::seconds> timeout;  ///< With a node that does not answer at the start; none: for ever.
    ArtifactServer::Tamper tamper;  ///< Developer chains only: with what is served.
};

/// The chain id of the node, as soon as it answers: says once that it waits.
Result<std::uint64_t> wait_for_node(RpcClient& client, const std::optional<std::chrono::seconds>& timeout);

/// Remembers in the folder whose chain its checkpoints, bids and salts are, and refuses every other: what is signed for
/// one would count on another where the account is known too.
Status<> keep_to_chain(const std::filesystem::path& folder, std::uint64_t chain_id);

/// What tasks may take of this machine's memory when nobody says: three quarters of memory_limit().
std::uint64_t usual_memory();

class AgentProcess {
public:
    /// Connects, opens the stores, starts the artifact server. Errors name the cause and the remedy.
    static Result<std::unique_ptr<AgentProcess>> open(const AgentOptions& options, ledger::SecretKey key);

    const AgentOptions& options() const noexcept { return options_; }
    const ledger::Address& address() const noexcept { return submitter_->address(); }
    /// Salts and beacon chains come from it: SHA-256("retrace/party-secret/1" ‖ private key).
    Hash32 secret() const;
    std::string endpoint() const;

    RpcClient& client() noexcept { return client_; }
    Submitter& submitter() noexcept { return *submitter_; }
    Store& artifacts() noexcept { return *artifacts_; }
    solver::CheckpointStore& checkpoints() noexcept { return *checkpoints_; }
    PeerSource& source() noexcept { return *source_; }
    kernels::ThreadPool& pool() noexcept { return pool_; }
    std::uint64_t memory() const { return options_.memory != 0 ? options_.memory : usual_memory(); }
    /// Of the processes that run tasks; on the processors.
    WorkerSettings worker_settings() const {
        return {pool_.threads(), memory(), solver::DeviceChoice::cpu, options_.require_sandbox};
    }
    Immutable& immutable() noexcept { return immutable_; }
    bool developer_chain() const noexcept { return developer_chain_; }

    /// Its artifact server serves none of these states.
    void withhold(std::set<Hash32> states) { provider_->withhold(std::move(states)); }
    /// Whom to ask for artifacts from now on, after our own node: strangers may be slow on purpose.
    void set_peers(std::vector<std::string> peers);
    /// The order, which waits for peers until the chain is at its `fetch_by` or it is to give way, and says once that
    /// it is slow.
    template <class Result>
    solver::WorkOrder<Result> in_time(solver::WorkOrder<Result> order) {
        auto run = [this, run = std::move(order.run), what = order.what, by = order.fetch_by,
                    gives_way = order.gives_way] {
            begin_fetching(what, by, gives_way);
            return run();
        };
        return {std::move(order.what), std::move(run), order.fetch_by, std::move(order.gives_way)};
    }
    /// Ends the waiting of the order that runs: the party stops.
    void stop_fetching() { stopping_ = true; }
    /// Bonds what is missing of the wanted stake (at least `minimum`) and waits for it.
    Status<> bond(const ledger::U256& minimum);
    /// A new block since the last call: its height. Logs once when the node is gone and once when it is back.
    std::optional<std::uint64_t> new_height();
    /// Logs what became of the calls that were sent.
    void report_outcomes();
    /// Deletes artifacts that none of `tasks` names, some time after they were named last.
    void tidy(std::uint64_t height, const std::map<std::uint64_t, solver::TaskTerms>& tasks);

private:
    AgentProcess(const AgentOptions& options, ledger::SecretKey key, RpcClient client);
    Status<> open_stores();
    void begin_fetching(const std::string& what, std::uint64_t fetch_by, std::function<bool()> gives_way);
    /// Whether nobody waits for peers any more.
    bool fetching_is_over();

    AgentOptions options_;
    ledger::SecretKey key_;
    RpcClient client_;
    std::unique_ptr<Submitter> submitter_;
    kernels::ThreadPool pool_;
    std::unique_ptr<Store> artifacts_;
    std::unique_ptr<GarbageCollector> garbage_collector_;
    std::uint64_t tidied_height_ = 0;
    std::unique_ptr<solver::CheckpointStore> checkpoints_;
    std::unique_ptr<ArtifactClient> fetcher_;
    std::mutex peers_mutex_;
    std::vector<std::string> peers_;
    std::unique_ptr<PeerSource> source_;
    std::unique_ptr<CheckpointProvider> provider_;  ///< Serves checkpoints to whoever knows their roots.
    std::unique_ptr<ArtifactServer> server_;
    std::unique_ptr<ArtifactHttpServer> http_;
    Immutable immutable_;
    std::atomic<std::uint64_t> height_ = 0;
    std::atomic<bool> stopping_ = false;
    struct Fetching {
        std::string what;
        std::uint64_t slow_from = 0, by = 0;
        bool told = false;
        std::function<bool()> gives_way;
    };
    Fetching fetching_;  ///< Of the order that runs; its thread's alone.
    bool lost_node_ = false;
    bool developer_chain_ = false;
};

}  // namespace retrace::node
