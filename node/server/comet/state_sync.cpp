// SPDX-License-Identifier: MIT
#include "node/server/comet/state_sync.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "ledger/chain/keys.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/server/comet/abci_server.hpp"
#include "node/server/comet/snapshot_receiver.hpp"
#include "node/server/comet/supervisor.hpp"
#include "node/server/comet/version.hpp"

namespace retrace::node::engine {
namespace {

namespace fs = std::filesystem;

/// While it exists, what lies in CometBFT's data folder belongs to a synchronisation that is not finished.
fs::path mark_of(const CometHome& home) { return home.folder / "syncing"; }

/// Removes CometBFT's blocks and state. What its validator has signed stays, so that it never signs twice.
Status<> remove_blocks(const fs::path& data) {
    std::error_code failed;
    for (fs::directory_iterator at(data, failed), end; !failed && at != end; at.increment(failed)) {
        if (at->path().filename() == "priv_validator_state.json") continue;
        fs::remove_all(at->path(), failed);
        if (failed) break;
    }
    if (failed && failed != std::errc::no_such_file_or_directory) return error(data.string() + ": " + failed.message());
    return Unit{};
}

/// The home for a synchronisation: empty but for the validator's files, which are not used.
Status<> prepare(const CometHome& home, const ledger::Genesis& genesis) {
    RETRACE_CHECK(remove_blocks(home.folder / "data"));
    RETRACE_CHECK(write_comet_home(home, genesis));
    std::error_code failed;
    fs::create_directories(home.folder / "data" / "tmp", failed);
    if (failed) return error(home.folder.string() + ": " + failed.message());
    return Unit{};
}

/// Marks the home, unless it has blocks that the ledger could be replayed from.
Status<> mark(const CometHome& home) {
    std::error_code failed;
    if (!fs::exists(mark_of(home), failed) && fs::exists(home.folder / "data" / "blockstore.db", failed)) {
        return error(home.folder.string() +
                     "/data has CometBFT's blocks, from which the ledger can be made again: start without --sync-from, "
                     "or delete the blocks (its folders *.db, and never priv_validator_state.json)");
    }
    fs::create_directories(home.folder, failed);
    const auto written = write_durably(mark_of(home), {}, 0600);
    if (!written) return error(written.error().message);
    return Unit{};
}

/// How the synchronisation ended.
class Outcome {
public:
    void set(Status<> status) {
        {
            const std::lock_guard lock(mutex_);
            if (!status_) status_ = std::move(status);
        }
        changed_.notify_all();
    }
    Status<> wait(const std::function<void()>& on_wait) {
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, std::chrono::seconds(10), [this] { return status_.has_value(); })) on_wait();
        return *status_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<Status<>> status_;
};

}  // namespace

bool wants_state_sync(const ledger::Store& store) {
    return !store.get(ledger::keys::tip()) || store.get(ledger::keys::unfinished());
}

Status<> end_state_sync(const CometHome& home, const ledger::Store& store) {
    std::error_code failed;
    if (!fs::exists(mark_of(home), failed)) return Unit{};
    if (wants_state_sync(store)) {
        return error("fetching a snapshot was interrupted: start with --sync-from again, or delete " +
                     mark_of(home).string() + " and " + (home.folder.parent_path() / "db").string() +
                     " to execute all blocks instead");
    }
    fs::remove(mark_of(home), failed);
    return Unit{};
}

Status<> sync_state(CometHome home, const std::string& configured, ledger::Store& store, const ledger::Genesis& genesis,
                    const ledger::TxExecutor& executor) {
    RETRACE_CHECK(check(*home.sync));
    RETRACE_TRY(program, comet_program(configured));
    RETRACE_CHECK(mark(home));
    // CometBFT itself names its version only at the end of the fetch.
    RETRACE_TRY(line, program_line(program, home.folder / "version.txt"));
    home.line = line;
    RETRACE_CHECK(prepare(home, genesis));
    spdlog::info("event=state_sync trust_height={} from={}", home.sync->height, home.sync->nodes.front());

    Outcome outcome;
    SnapshotReceiverOptions receiving;
    receiving.line = home.line;
    receiving.on_done = [&](const ledger::Imported& imported) {
        spdlog::info("event=state_synced height={} accounts={} slots={}", imported.height, imported.accounts,
                     imported.slots);
        outcome.set(Unit{});
    };
    receiving.on_fatal = [&](const std::string& why) { outcome.set(error(why)); };
    SnapshotReceiver receiver(store, genesis, executor, std::move(receiving));
    AbciServerOptions serving;
    serving.path = home.abci_socket().string();
    RETRACE_TRY(server, AbciServer::start(
                            std::move(serving), [&](View request) { return receiver.answer(request); },
                            [](const std::string& why) { spdlog::error("event=abci_broken why=\"{}\"", why); }));
    {
        SupervisorOptions child;
        child.program = program;
        child.home = home.folder;
        child.log = home.log();
        // CometBFT collects the parts in its temporary folder.
        child.environment = {"TMPDIR=" + (home.folder / "data" / "tmp").string()};
        child.height = [] { return std::uint64_t{0}; };
        child.before_start = [&] {
            std::error_code ignored;
            fs::remove(home.rpc_socket(), ignored);  // CometBFT does not take it over.
            // A child that died may have stored a state without a block, from which none goes on.
            if (receiver.begin_again())
                if (const auto ready = prepare(home, genesis); !ready) outcome.set(error(ready.error().message));
        };
        child.on_failed = [&](const std::string& why) { outcome.set(error("state sync: " + why)); };
        const Supervisor supervisor(std::move(child));  // Ends CometBFT before the server that it calls.
        RETRACE_CHECK(outcome.wait([] { spdlog::info("event=syncing_state"); }));
    }
    std::error_code ignored;
    for (const char* left : {"tmp", "sync_key.json", "sync_state.json"})
        fs::remove_all(home.folder / "data" / left, ignored);
    return end_state_sync(home, store);
}

}  // namespace retrace::node::engine
