// SPDX-License-Identifier: MIT
#include "node/server/engine/solo.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "node/server/engine/block_log.hpp"

namespace retrace::node::engine {
namespace {

constexpr TimeNs kTimeStep = 1'000'000;  // block time rises by at least 1 ms, as CometBFT's does

struct TxViews {
    explicit TxViews(const std::vector<Bytes>& txs) : views(txs.begin(), txs.end()) {}
    std::vector<View> views;
};

}  // namespace

TimeNs system_clock_ns() {
    using namespace std::chrono;
    return static_cast<TimeNs>(duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

struct SoloEngine::Impl {
    SoloOptions options;
    Application* application = nullptr;
    std::unique_ptr<BlockLog> log;
    TimeNs last_time = 0;
    Height prune_from = 0;  // prune_old does not try below this height

    mutable std::mutex mutex;  // guards the members below
    std::condition_variable wake;
    bool stopping = false;
    EngineStatus state;
    std::thread thread;

    /// The node's own vote for the block before this one; block 1 has none before it. `extension` as BlockView has it.
    std::vector<Vote> commit_before(Height height, Bytes extension) const {
        if (!options.is_validator || height == 1) return {};
        return {{options.proposer, 1, VoteFlag::commit, std::move(extension)}};
    }

    Status<> execute(const StoredBlock& block) {
        const TxViews txs(block.txs);
        const std::vector<Vote> votes = commit_before(block.height, {});
        RETRACE_TRY(result, application->finalize({block.height, block.time, block.proposer, txs.views, votes, {}}));
        if (result.txs.size() != block.txs.size()) return error("the application lost results of transactions");
        RETRACE_CHECK(application->commit());
        last_time = block.time;
        const std::lock_guard lock(mutex);
        state.height = block.height;
        return Unit{};
    }

    /// Executes the blocks that were decided before the process ended.
    Status<> replay() {
        const AppInfo info = application->info();
        last_time = info.time;
        state.height = info.height;
        for (Height height = info.height + 1; height <= log->tip(); ++height) {
            RETRACE_TRY(block, log->read(height));
            RETRACE_CHECK(execute(block));
        }
        return Unit{};
    }

    /// Shortens the log when half of it is old, so that a block is copied twice at most. If the copy fails, e.g. on a
    /// full disk, the log just stays longer; the next attempt follows `keep_blocks` blocks later.
    void prune_old() {
        const std::uint64_t keep = options.keep_blocks;
        const Height tip = log->tip();
        if (keep == 0 || tip - log->base() < 2 * keep || tip < prune_from) return;
        const auto pruned = log->prune_below(tip - keep + 1);
        if (pruned) return;
        prune_from = tip + keep;
        spdlog::warn("event=block_log_not_shortened next_try={} why=\"{}\"", prune_from, pruned.error().message);
    }

    Result<bool> produce() {
        if (const auto obstacle = application->obstacle()) return error(*obstacle);
        StoredBlock block;
        block.height = log->tip() + 1;
        block.time = std::max(options.clock(), last_time + kTimeStep);
        block.proposer = options.proposer;
        const std::vector<Vote> votes = commit_before(block.height, {}),
                                extended = commit_before(block.height, application->extend_vote(block.height - 1));
        block.txs =
            application->propose({block.height, block.time, block.proposer, {}, extended, {}}, options.block_bytes);
        if (block.txs.empty() && !options.empty_blocks) return false;
        const TxViews txs(block.txs);
        if (!application->process({block.height, block.time, block.proposer, txs.views, votes, {}}))
            return error("the application refuses its own proposal");
        RETRACE_CHECK(log->append(block));
        RETRACE_CHECK(execute(block));
        prune_old();
        return true;
    }

    void run() {
        using Clock = std::chrono::steady_clock;
        auto next = Clock::now() + options.block_interval;
        std::unique_lock lock(mutex);
        while (!stopping) {
            if (wake.wait_until(lock, next, [this] { return stopping; })) return;
            lock.unlock();
            const Result<bool> made = produce();
            // After a late block the next ones are not made faster: the next due time is never in the past.
            next = std::max(next + options.block_interval, Clock::now());
            lock.lock();
            if (!made) {
                state.halted = true;
                state.reason = made.error().message;
                lock.unlock();
                if (options.on_halt) options.on_halt(made.error().message);
                return;
            }
        }
    }
};

SoloEngine::SoloEngine(SoloOptions options) : impl_(std::make_unique<Impl>()) {
    impl_->options = std::move(options);
    if (!impl_->options.clock) impl_->options.clock = system_clock_ns;
}

SoloEngine::~SoloEngine() { stop(); }

Status<> SoloEngine::start(Application& application) {
    ensure(impl_->application == nullptr, "an engine is started once");
    const AppInfo info = application.info();
    RETRACE_TRY(log, BlockLog::open(impl_->options.log_path, info.genesis_hash, info.height));
    impl_->application = &application;
    impl_->log = std::move(log);
    RETRACE_CHECK(impl_->replay());
    if (const auto obstacle = application.obstacle()) return error(*obstacle);
    if (impl_->options.block_interval.count() > 0) impl_->thread = std::thread([this] { impl_->run(); });
    return Unit{};
}

void SoloEngine::stop() noexcept {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->stopping = true;
    }
    impl_->wake.notify_all();
    if (impl_->thread.joinable()) impl_->thread.join();
}

EngineStatus SoloEngine::status() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->state;
}

std::optional<StoredBlock> SoloEngine::block(Height height) const {
    if (!impl_->log) return std::nullopt;
    Result<StoredBlock> block = impl_->log->read(height);
    if (!block) return std::nullopt;
    return std::move(block).value();
}

Result<bool> SoloEngine::produce() {
    ensure(impl_->log != nullptr && !impl_->thread.joinable(), "produce() is for an engine without a thread");
    return impl_->produce();
}

}  // namespace retrace::node::engine
