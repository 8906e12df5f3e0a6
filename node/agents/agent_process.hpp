// SPDX-License-Identifier: MIT
// Shared parts of a solver and a verifier process: the connection to a node, the key, the stores, the artifact server.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "ledger/crypto/eip55.hpp"
#include "node/agents/account_guard.hpp"
#include "node/agents/agent_board.hpp"
#include "node/agents/chain_reader.hpp"
#include "node/agents/data_use.hpp"
#include "node/agents/earnings.hpp"
#include "node/agents/run_peers.hpp"
#include "node/agents/submitter.hpp"
#include "node/agents/task_journal.hpp"
#include "node/agents/views.hpp"
#include "node/agents/worker_processes.hpp"
#include "node/artifacts/garbage_collector.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/artifacts/peer_source.hpp"
#include "node/artifacts/provider.hpp"
#include "solver/agent/work.hpp"
#include "solver/artifacts/private_data.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::node {

/// A folder of data sets of a member of a private group.
struct PrivateFolder {
    std::filesystem::path folder;
    /// Whose they are: the member of this task, which a verifier audits. 0: the solver's own.
    std::uint64_t task = 0;
    ledger::Address member = {};
};

struct AgentOptions {
    std::string node_url = "http://127.0.0.1:8545";
    std::filesystem::path data_dir;
    std::string listen = "127.0.0.1";        ///< Address at which artifacts are served.
    bool listen_chosen = false;              ///< Its owner named it, so that loopback is meant.
    std::uint16_t port = 0;                  ///< 0: the operating system chooses.
    std::string endpoint;                    ///< URL by which others reach it; empty: http://listen:port.
    ledger::U256 stake;                      ///< Topped up to this amount at the start; zero: the chain's minimum.
    unsigned threads = 0;                    ///< Threads of the kernels; 0: as many as the machine has.
    std::uint64_t memory = 0;                ///< Bytes that tasks may use; 0: default_memory().
    std::chrono::milliseconds poll{50};      ///< Interval at which the chain is polled.
    std::uint64_t retention_blocks = 5'000;  ///< Artifacts are deleted this long after a task last needed them.
    bool require_sandbox = false;            ///< Whether tasks run only in a sandbox.
    std::filesystem::path offload = {};      ///< Folder on a disk for states that do not fit `memory`; empty: none.
    /// Data sets of private groups (contracts 21.13), which nobody gets from here.
    std::vector<PrivateFolder> private_data;
    /// What the agent reads is proved from this block of CometBFT; none: its node is believed.
    std::optional<light::TrustedBlock> trust;
    std::optional<std::chrono::seconds> timeout;  ///< For the node's first answer; none: wait for ever.
    ArtifactServer::Tamper tamper;                ///< Developer chains only: changes served answers.
    std::shared_ptr<AgentBoard> board;            ///< Told after each block what the agent does; nullptr: nobody is.
};

/// Waits for the node and returns its chain id. Logs once that it is waiting.
Result<std::uint64_t> wait_for_node(RpcClient& client, const std::optional<std::chrono::seconds>& timeout);

/// Records the chain id in the folder and refuses any other chain afterwards: the folder's checkpoints, bids and salts
/// belong to one chain, and a signature for it would be valid on another where the same account exists.
Status<> bind_to_chain(const std::filesystem::path& folder, std::uint64_t chain_id);

/// Refuses an endpoint on this machine's loopback unless the node is there too: other machines could not fetch from it,
/// and an agent whose data nobody can fetch loses stake.
Status<> check_reachable(const std::string& endpoint, const std::string& node_url);

/// Refuses to serve on loopback alone on a chain that is no developer chain, if nobody chose that: a node on this
/// machine, the default, says nothing about where the other parties are.
Status<> check_public_endpoint(const AgentOptions& options);

/// Refuses private data with a node on another machine, unless it `proves` its answers: it could say that a task is of a
/// requester whose programs may read the data.
Status<> check_node_of_data(const std::string& node_url, bool proves);

/// Default memory quota of tasks in bytes: three quarters of memory_limit().
std::uint64_t default_memory();

class AgentProcess {
public:
    /// Connects, opens the stores, starts the artifact server. Errors name the cause and the remedy.
    static Result<std::unique_ptr<AgentProcess>> open(const AgentOptions& options, ledger::SecretKey key);

    const AgentOptions& options() const noexcept { return options_; }
    const ledger::Address& address() const noexcept { return submitter_->address(); }
    /// Seed of salts and beacon chains: SHA-256("retrace/party-secret/1" ‖ private key).
    Hash32 secret() const;
    std::string endpoint() const;

    std::uint64_t chain_id() const noexcept { return chain_id_; }
    /// The hash of the chain's first block, by which chains of one number differ; nullopt: the node has dropped it, and had
    /// done so when this data directory was first used.
    const std::optional<Hash32>& genesis() const noexcept { return genesis_; }
    RpcClient& client() noexcept { return client_; }
    ChainReader& chain() noexcept { return chain_; }
    Submitter& submitter() noexcept { return *submitter_; }
    Store& artifacts() noexcept { return *artifacts_; }
    solver::CheckpointStore& checkpoints() noexcept { return *checkpoints_; }
    PeerSource& source() noexcept { return *source_; }
    solver::MessageStore& messages() noexcept { return *messages_; }
    kernels::ThreadPool& pool() noexcept { return pool_; }
    std::uint64_t memory() const { return options_.memory != 0 ? options_.memory : default_memory(); }
    /// Bytes a second of the disk of AgentOptions::offload, the slower way; 0 without one.
    double disk_speed() const noexcept { return disk_speed_; }
    /// Settings of the worker processes that run tasks, on the CPU.
    WorkerSettings worker_settings() const {
        return {pool_.threads(), memory(), solver::DeviceChoice::cpu, options_.require_sandbox, {}, options_.offload};
    }
    Immutable& immutable() noexcept { return immutable_; }
    /// Served to the requesters of its tasks.
    TaskJournals& journals() noexcept { return *journals_; }
    bool developer_chain() const noexcept { return developer_chain_; }

    solver::PrivateData& private_data() noexcept { return private_data_; }
    /// Roots of the solver's own data sets, in the order in which a program takes them.
    const std::vector<Hash32>& own_data() const noexcept { return own_data_; }
    const std::vector<AuditedData>& audited_data() const noexcept { return audited_data_; }
    /// Stops the artifact server from serving these states.
    void withhold(std::set<Hash32> states) { provider_->withhold(std::move(states)); }
    /// Stops it from serving any state of these programs or plans. A party that audits private data serves no state before
    /// the first call.
    void withhold_programs(std::set<Hash32> roots) { provider_->withhold_programs(std::move(roots)); }
    /// Sets the peers to fetch artifacts from. Our own node is asked before them, because strangers may be slow on
    /// purpose.
    void set_peers(RunPeers peers);
    /// Wraps the order so that it fetches from the peers of its run, and waits for them only until the chain reaches
    /// its `fetch_by` or its token requests a stop. A slow order is logged once.
    template <class Result>
    solver::WorkOrder<Result> in_time(solver::WorkOrder<Result> order) {
        auto run = [this, run = std::move(order.run), of = order.fetches_of, what = order.what, by = order.fetch_by,
                    stop = order.stop] {
            begin_fetching(of, what, by, stop);
            return run();
        };
        return {std::move(order.what), std::move(run), order.fetch_by, std::move(order.stop), order.fetches_of};
    }
    /// Called when the party stops: the running order no longer waits for peers.
    void stop_fetching() { stopping_ = true; }
    /// Whether the endpoint is one that others reach; asked before it is registered.
    Status<> check_endpoint() const;
    /// Fails if another agent of this account answers at `registered`, an endpoint that the ledger names for it.
    Status<> check_alone(const std::string& registered) const;
    /// Fails from when the ledger names another endpoint than ours for this account after it has named ours.
    Status<> check_not_replaced(const std::string& registered);
    /// Reads what was earned up to the height of the last view, and returns the sum since the start.
    const Earnings& earnings();
    /// Logs what was earned since the start.
    void report_earnings();
    /// Bonds the missing part of the wanted stake (at least `minimum`) and waits until it is in a block.
    Status<> bond(const ledger::U256& minimum);
    /// Returns the height if there is a new block since the last call. Logs once when the node becomes unreachable and
    /// once when it is back.
    std::optional<std::uint64_t> new_height();
    /// Whether the node did not answer when it was last asked for its height.
    bool lost_node() const noexcept { return lost_node_; }
    /// Logs the outcomes of the calls that were sent.
    void report_outcomes();
    /// Tells the board, if there is one, what `fill` sets in a status; the process adds its own part.
    template <class Fill>
    void tell_board(const Fill& fill) {
        if (!options_.board) return;
        AgentStatus status;
        status.address = ledger::to_checksum(address());
        status.endpoint = endpoint();
        status.height = height_;
        status.since_start = earnings_;
        status.pending_calls = submitter_->pending();
        fill(status);
        options_.board->set(std::move(status));
    }
    /// Deletes artifacts that none of `tasks` has named for `retention_blocks`.
    void collect_garbage(std::uint64_t height, const std::map<std::uint64_t, solver::TaskTerms>& tasks);

private:
    AgentProcess(const AgentOptions& options, ledger::SecretKey key, RpcClient client);
    Status<> open_stores();
    Status<> load_private_data();
    void begin_fetching(const solver::RunKey& of, const std::string& what, std::uint64_t fetch_by,
                        const kernels::StopToken& stop);
    /// Returns whom the running order asks.
    PeerList peers_to_ask();
    /// Returns whom the running order asks for a message: its author, then the peers of its own run.
    PeerList peers_for_message(const solver::RunKey& author);
    /// Whether the running order must stop waiting for peers.
    bool fetching_is_over();

    AgentOptions options_;
    ledger::SecretKey key_;
    RpcClient client_;
    ChainReader chain_;
    std::unique_ptr<Submitter> submitter_;
    std::uint64_t chain_id_ = 0;
    std::optional<Hash32> genesis_;
    kernels::ThreadPool pool_;
    solver::PrivateData private_data_;
    std::vector<Hash32> own_data_;
    std::vector<AuditedData> audited_data_;
    std::set<Hash32> private_roots_;
    std::unique_ptr<Store> artifacts_;
    std::unique_ptr<GarbageCollector> garbage_collector_;
    std::unique_ptr<TaskJournals> journals_;
    std::uint64_t collected_height_ = 0;
    std::unique_ptr<solver::CheckpointStore> checkpoints_;
    std::unique_ptr<solver::MessageStore> messages_;
    std::unique_ptr<ArtifactClient> fetcher_;
    std::mutex peers_mutex_;
    RunPeers peers_;
    std::unique_ptr<PeerSource> source_;
    std::unique_ptr<CheckpointProvider> provider_;  ///< Serves checkpoints to anyone who knows their roots.
    std::unique_ptr<ArtifactServer> server_;
    std::unique_ptr<ArtifactHttpServer> http_;
    Immutable immutable_;
    std::atomic<std::uint64_t> height_ = 0;
    std::uint64_t first_height_ = 0;  ///< With `trust`: what it sent before it looked at blocks is in none above it.
    std::atomic<bool> stopping_ = false;
    Hash32 instance_;  ///< Random: tells this process from others of the account.
    std::optional<AccountGuard> guard_;
    Earnings earnings_;
    double disk_speed_ = 0;
    struct Fetching {
        solver::RunKey of;
        std::string what;
        std::uint64_t slow_from = 0, by = 0;
        bool logged = false;
        kernels::StopToken stop;
    };
    Fetching fetching_;  ///< State of the running order; used only by its thread.
    bool lost_node_ = false;
    bool developer_chain_ = false;
};

}  // namespace retrace::node
