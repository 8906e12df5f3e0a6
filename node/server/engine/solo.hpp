// SPDX-License-Identifier: MIT
// The embedded engine: one process decides alone, every block is in a synced log before it is executed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

struct SoloOptions {
    std::string log_path;                            ///< File of decided blocks.
    std::chrono::milliseconds block_interval{1000};  ///< 0: no thread, blocks come by `produce` alone.
    bool empty_blocks = true;            ///< Deadlines count heights, so time must pass without traffic.
    std::uint64_t keep_blocks = 0;       ///< That many stay in the log, and up to as many more while
                                         ///< the disk has room for a copy; 0: all.
    std::size_t block_bytes = 4U << 20;  ///< Transactions of one block together.
    Address20 proposer{};                ///< Account that receives the tips.
    std::function<TimeNs()> clock;       ///< Wall clock; block time is max(clock, last + 1 ms).
    std::function<void(const std::string&)> on_halt;  ///< Called once, from the engine's thread.
};

class SoloEngine final : public Engine {
public:
    explicit SoloEngine(SoloOptions options);
    ~SoloEngine() override;

    std::string_view name() const noexcept override { return "solo"; }
    Status<> start(Application& application) override;
    void stop() noexcept override;
    Submitted submit(View tx) override;
    EngineStatus status() const override;
    std::optional<StoredBlock> block(Height height) const override;

    /// Makes one block now; false when there was nothing to put in it and empty blocks are off. For tests and
    /// simulations that run without the thread (block_interval 0).
    Result<bool> produce();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The operating system's clock in UTC.
TimeNs system_clock_ns();

}  // namespace retrace::node::engine
