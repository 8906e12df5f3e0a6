// SPDX-License-Identifier: MIT
#include "node/server/comet/state_sync.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "ledger/chain/keys.hpp"
#include "node/server/comet/abci_server.hpp"
#include "node/server/comet/snapshot_receiver.hpp"
#include "node/server/comet/supervisor.hpp"

namespace retrace::node::engine {
namespace {

namespace fs = std::filesystem;

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

Status<> sync_state(const CometHome& home, const std::string& configured, ledger::Store& store,
                    const ledger::Genesis& genesis, const ledger::TxExecutor& executor) {
    RETRACE_TRY(program, comet_program(configured));
    RETRACE_CHECK(remove_blocks(home.folder / "data"));
    RETRACE_CHECK(write_comet_home(home, genesis));
    spdlog::info("event=state_sync trust_height={} from={}", home.sync->height, home.sync->nodes.front());

    Outcome outcome;
    SnapshotReceiverOptions receiving;
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
    SupervisorOptions child;
    child.program = program;
    child.home = home.folder;
    child.log = home.log();
    child.height = [] { return std::uint64_t{0}; };
    child.before_start = [&] {
        std::error_code ignored;
        fs::remove(home.rpc_socket(), ignored);  // CometBFT does not take it over.
    };
    child.on_failed = [&](const std::string& why) { outcome.set(error("state sync: " + why)); };
    const Supervisor supervisor(std::move(child));  // Ends CometBFT before the server that it calls.
    return outcome.wait([] { spdlog::info("event=waiting_for_snapshot"); });
}

}  // namespace retrace::node::engine
