// SPDX-License-Identifier: MIT
// A party's machine: one worker that computes one order at a time, in virtual time. The results are really computed;
// the time is declared: a cost for each segment of steps and for each hashed tile, divided by the machine's speed. SPEC
// 3.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>

#include "solver/agent/task_cache.hpp"
#include "tests/simulation/clock.hpp"

namespace retrace::sim {

/// Time that work takes on the slowest machine that the rules allow.
struct Costs {
    Millis segment = 8'500;  ///< All steps of a whole segment.
    Millis tile = 20;        ///< Hashing one tile.
    Millis order = 20;       ///< Any other work of one order.
};

/// Speeds are in basis points of the slowest allowed machine: 20,000 is twice as fast.
inline constexpr std::uint64_t kJustAllowed = 10'000, kFast = 100'000;

class Machine {
public:
    /// `clock` outlives the machine.
    Machine(Clock& clock, const Costs& costs, std::uint64_t speed_bp);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Starts computing `job` now; `done` is called when its virtual time has passed. One job at a time.
    void start(std::function<void()> job, std::function<void()> done);
    bool busy() const noexcept { return busy_; }
    /// The power fails: the current job is computed up to the next point at which time would pass, so that a write may
    /// be torn, and never completes.
    void cut();
    /// Total virtual time for which the worker computed.
    Millis worked() const noexcept { return worked_; }

    // Called on the worker thread by the code that it computes. On other threads they do nothing.
    /// Spends the time of one of the `steps` steps of a segment.
    static void take_step(std::uint64_t steps);
    /// Counts a hashed tile, whose time is spent together with the next step or order.
    static void note_tile();

private:
    struct PowerCut {};  // Derives from no exception class, so that no handler on the way takes it for its own failure.

    Millis at_speed(Millis cost) const;
    void spend(Millis cost);
    void work();
    void resume();

    Clock& clock_;
    const Costs costs_;
    const std::uint64_t speed_bp_;
    std::function<void()> job_, done_;
    std::exception_ptr failed_;
    bool busy_ = false, ended_ = false, cut_ = false, quit_ = false;
    std::uint64_t tiles_ = 0;  ///< Tiles hashed whose time is not spent yet.
    std::uint64_t waits_ = 0;  ///< Number of the current wait; a wake-up with an older number is ignored because its
                               ///< wait was cut short.
    Millis worked_ = 0;
    std::uint64_t seed_ = 0;
    /// Only one of the two threads runs at a time: `go_` wakes the worker, `back_` the simulation.
    std::binary_semaphore go_{0}, back_{0};
    std::thread thread_;
};

/// Runners whose steps spend the machine's virtual time.
solver::RunnerFactory timed_runners(solver::RunnerFactory inner);

/// The seed that this thread plays, for the message printed on an abort.
std::uint64_t& seed_of_this_thread() noexcept;

}  // namespace retrace::sim
