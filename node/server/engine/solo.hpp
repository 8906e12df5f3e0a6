// SPDX-License-Identifier: MIT
// The embedded engine: one process decides alone and writes every block to a synced log before it is executed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

struct SoloOptions {
    std::string log_path;                            ///< File of decided blocks.
    std::chrono::milliseconds block_interval{1000};  ///< 0: no thread; only `produce` makes blocks.
    bool empty_blocks = true;                        ///< Deadlines count heights, so time must pass without traffic.
    std::uint64_t keep_blocks = 0;                   ///< The log keeps from this number to twice as many; more if
                                                     ///< the disk has no room for a copy; 0: all.
    std::size_t block_bytes = 4U << 20;              ///< Limit on all transactions of a block.
    Address20 proposer{};  ///< Account that receives the priority fees; with a validator, its consensus address.
    /// The genesis names this node as the only validator: its vote for each block is in the commit of the next one.
    bool is_validator = false;
    std::function<TimeNs()> clock;                    ///< Wall clock; block time is max(clock, last + 1 ms).
    std::function<void(const std::string&)> on_halt;  ///< Called once, from the engine's thread.
};

class SoloEngine final : public Engine {
public:
    explicit SoloEngine(SoloOptions options);
    ~SoloEngine() override;

    std::string_view name() const noexcept override { return "solo"; }
    Status<> start(Application& application) override;
    void stop() noexcept override;
    void announce(View) override {}  // There are no other nodes.
    EngineStatus status() const override;
    /// A decided block; nullopt if the log does not have it.
    std::optional<StoredBlock> block(Height height) const;

    /// Makes one block now; returns false if there are no transactions and empty blocks are off. For tests and
    /// simulations that run without the thread (block_interval 0).
    Result<bool> produce();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The system clock: nanoseconds since 1970, UTC.
TimeNs system_clock_ns();

}  // namespace retrace::node::engine
