// SPDX-License-Identifier: MIT
#include "node/server/comet/comet.hpp"

#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "node/platform/files.hpp"
#include "node/server/comet/abci_calls.hpp"
#include "node/server/comet/abci_server.hpp"
#include "node/server/comet/comet_rpc.hpp"
#include "node/server/comet/supervisor.hpp"

namespace retrace::node::engine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kStatusEvery{1};
/// A CometBFT that hangs makes no more blocks. The longest block takes far less time.
constexpr std::chrono::seconds kSilenceMax{60};
constexpr std::chrono::seconds kPeersTime{30}, kPeersReminder{600};
/// A chain that makes empty blocks is stalled after this time and ten intervals without one.
constexpr std::chrono::seconds kStallTime{30};
/// The node ends while what it writes is still complete.
constexpr DiskSpace kSpaceMin{16U << 20, 64};

/// Why this disk is too full; empty: it is not.
std::string full_disk(const std::filesystem::path& folder) {
    const DiskSpace free = free_space(folder);
    if (free.bytes >= kSpaceMin.bytes && free.inodes >= kSpaceMin.inodes) return {};
    return "no space left: the disk of " + folder.string() + " has " + std::to_string(free.bytes >> 20) +
           " MiB free, and a node needs " + std::to_string(kSpaceMin.bytes >> 20) + " MiB and " +
           std::to_string(kSpaceMin.inodes) + " inodes; free some and start it again";
}

}  // namespace

struct CometEngine::Impl {
    CometOptions options;
    Application* application = nullptr;
    std::unique_ptr<AbciCalls> calls;
    std::unique_ptr<AbciServer> server;
    std::unique_ptr<Gossip> gossip;
    std::unique_ptr<CometRpc> rpc;  // of the supervisor's thread
    std::unique_ptr<Supervisor> supervisor;
    // Of the supervisor's thread:
    Clock::time_point next_status{}, last_answer{}, peers_due{};
    bool child_answers = false;     // The running child's RPC has answered.
    std::atomic<int> executing{0};  // calls of the application

    mutable std::mutex mutex;  // guards the members below
    std::condition_variable changed;
    EngineStatus state;
    Clock::time_point last_block = Clock::now();
    bool answers = false;         // CometBFT's RPC has answered since the start
    bool params_checked = false;  // of the supervisor's thread

    void halt(const std::string& why) {
        {
            const std::lock_guard lock(mutex);
            if (state.halted) return;
            state.halted = true;
            state.reason = why;
        }
        changed.notify_all();
        if (options.on_halt) options.on_halt(why);
    }

    void on_commit(Height height) {
        const std::lock_guard lock(mutex);
        state.height = height;
        last_block = Clock::now();
    }

    /// A node that fetched a snapshot has these from one of the nodes that it asked, and CometBFT compares few of them
    /// with the signed header. They never change, so they are those of the genesis.
    void check_params() {
        if (params_checked) return;
        const auto params = rpc->consensus_params();
        if (!params || !*params) return;
        params_checked = true;
        if (**params == boost::json::value(comet_params(options.genesis, options.home.line))) return;
        halt(
            "CometBFT's consensus parameters are not those of the genesis: a node of --sync-from gave false ones. "
            "Delete the data directory's db and comet/data/*.db (never priv_validator_state.json) and fetch a snapshot "
            "with other nodes first");
    }

    void on_start() {
        child_answers = false;
        peers_due = Clock::now() + kPeersTime;
        gossip->announce_all();  // CometBFT's mempool does not outlive it.
    }

    /// Returns why CometBFT is to be started again; empty: it goes on.
    std::string poll_status() {
        if (Clock::now() < next_status) return {};
        // CometBFT outlives a write of its consensus that fails, and cannot log that on the same disk.
        if (const std::string why = full_disk(options.home.folder); !why.empty()) halt(why);
        check_params();
        const auto status = rpc->status();
        const auto now = Clock::now();
        // While it waits for us it may answer nobody.
        if (status || executing != 0) last_answer = now;
        if (status) {
            child_answers = true;
            remind_of_peers(status->peers, now);
        }
        const std::lock_guard lock(mutex);
        if (!status) {
            // Until its first answer it replays blocks, and is asked again soon.
            if (!answers) return {};
            next_status = now + kStatusEvery;
            state.peers = 0;
            if (!child_answers || now - last_answer < kSilenceMax) return {};
            return "no answer for " + std::to_string(kSilenceMax.count()) + " s";
        }
        next_status = now + kStatusEvery;
        state.catching_up = status->catching_up;
        state.peers = status->peers;
        answers = true;
        changed.notify_all();
        return {};
    }

    /// A node without any of its peers waits for blocks for ever.
    void remind_of_peers(std::size_t connected, Clock::time_point now) {
        if (connected != 0 || options.home.peers.empty()) {
            peers_due = now + kPeersTime;
        } else if (now > peers_due) {
            peers_due = now + kPeersReminder;
            spdlog::warn(
                "event=no_peers why=\"none of the peers is connected: they are not reachable, or their genesis "
                "is another one\" chain={} log={}",
                comet_chain_id(options.genesis, options.home.line), options.home.log().string());
        }
    }

    Status<> serve() {
        AbciCallsOptions call_options;
        call_options.chain_id = comet_chain_id(options.genesis, options.home.line);
        call_options.line = options.home.line;
        call_options.keep_blocks = options.keep_blocks;
        call_options.snapshots = options.snapshots;
        call_options.on_commit = [this](Height height) { on_commit(height); };
        call_options.on_fatal = [this](const std::string& why) { halt(why); };
        calls = std::make_unique<AbciCalls>(*application, std::move(call_options));
        AbciServerOptions server_options;
        server_options.path = options.home.abci_socket().string();
        RETRACE_TRY(started, AbciServer::start(
                                 std::move(server_options),
                                 [this](View request) {
                                     ++executing;
                                     auto answer = calls->answer(request);
                                     --executing;
                                     return answer;
                                 },
                                 [](const std::string& why) { spdlog::error("event=abci_broken why=\"{}\"", why); }));
        server = std::move(started);
        return Unit{};
    }

    void supervise(const std::filesystem::path& program) {
        rpc = std::make_unique<CometRpc>(options.home.rpc_socket());
        SupervisorOptions child;
        child.program = program;
        child.home = options.home.folder;
        child.log = options.home.log();
        child.height = [this] {
            const std::lock_guard lock(mutex);
            return state.height;
        };
        child.before_start = [this] {
            std::error_code ignored;
            std::filesystem::remove(options.home.rpc_socket(), ignored);  // CometBFT does not take it over.
        };
        child.on_start = [this] { on_start(); };
        child.on_tick = [this] { return poll_status(); };
        child.on_failed = [this](const std::string& why) { halt(why); };
        supervisor = std::make_unique<Supervisor>(std::move(child));
    }

    Status<> await_replay() {
        const std::uint64_t now = static_cast<std::uint64_t>(
            std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
        if (options.genesis.time_ns > now)
            spdlog::info("event=waiting_for_genesis seconds={}", (options.genesis.time_ns - now) / 1'000'000'000);
        std::unique_lock lock(mutex);
        while (!changed.wait_for(lock, std::chrono::seconds(10), [this] { return answers || state.halted; }))
            spdlog::info("event=waiting_for_cometbft height={}", state.height);
        if (state.halted) return error(state.reason);
        return Unit{};
    }
};

CometEngine::CometEngine(CometOptions options) : impl_(std::make_unique<Impl>()) {
    impl_->options = std::move(options);
    impl_->gossip = std::make_unique<Gossip>(impl_->options.home.rpc_socket(), impl_->options.pending);
}

CometEngine::~CometEngine() { stop(); }

Status<> CometEngine::start(Application& application) {
    ensure(impl_->application == nullptr, "an engine is started once");
    RETRACE_TRY(program, comet_program(impl_->options.program));
    CometHome& home = impl_->options.home;
    const Height height = application.info().height;
    if (height != 0 && !std::filesystem::exists(home.folder / "data" / "blockstore.db")) {
        return error("the ledger is at height " + std::to_string(height) + ", but " + home.folder.string() +
                     " has no blocks: the data directory belongs to the engine solo, or a part of it is missing");
    }
    if (const std::string why = full_disk(home.folder); !why.empty()) return error(why);
    RETRACE_TRY(line, program_line(program, home.folder / "version.txt"));
    home.line = line;
    RETRACE_CHECK(write_comet_home(home, impl_->options.genesis));
    if (const auto why = application.obstacle()) return error(*why);
    impl_->application = &application;
    impl_->state.height = height;
    RETRACE_CHECK(impl_->serve());
    impl_->supervise(program);
    return impl_->await_replay();
}

void CometEngine::stop() noexcept {
    // CometBFT first: it ends itself in an error when its application leaves.
    impl_->supervisor.reset();
    impl_->gossip->stop();
    impl_->server.reset();
}

void CometEngine::announce(View tx) {
    // What CheckTx has just brought is in CometBFT's mempool already.
    if (!equal(tx, AbciCalls::arriving())) impl_->gossip->announce(tx);
}

EngineStatus CometEngine::status() const {
    const std::lock_guard lock(impl_->mutex);
    EngineStatus out = impl_->state;
    out.stalled = Clock::now() - impl_->last_block > kStallTime + 10 * impl_->options.home.block_interval;
    return out;
}

}  // namespace retrace::node::engine
