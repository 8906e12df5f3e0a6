// SPDX-License-Identifier: MIT
// A party's machine: one worker that computes one order at a time, in virtual time. What an order computes is real; how
// long it takes is declared: so much for a segment of steps and so much for each tile that is hashed, divided by the
// machine's speed. SPEC 3.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>

#include "solver/agent/task_cache.hpp"
#include "tests/simulation/clock.hpp"

namespace retrace::sim {

/// What work takes on the slowest machine that is allowed.
struct Costs {
    Millis segment = 8'500;  ///< All steps of a whole segment.
    Millis tile = 20;        ///< Hashing one tile.
    Millis order = 20;       ///< Whatever else an order takes.
};

/// Speeds are in basis points of that machine's: 20,000 is twice as fast.
inline constexpr std::uint64_t kJustAllowed = 10'000, kFast = 100'000;

class Machine {
public:
    /// `clock` outlives the machine.
    Machine(Clock& clock, const Costs& costs, std::uint64_t speed_bp);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Computes `job` from now on; `done` is called when virtual time has come to its end. One at a time.
    void start(std::function<void()> job, std::function<void()> done);
    bool busy() const noexcept { return busy_; }
    /// The power fails: what is under way is computed to the next moment at which time would pass, so that a write may
    /// be torn, and never ends.
    void cut();
    /// Virtual time in which the worker computed.
    Millis worked() const noexcept { return worked_; }

    // On the worker, by what it computes. Elsewhere they do nothing.
    /// Time passes for one of `steps` steps of a segment.
    static void take_step(std::uint64_t steps);
    /// Noted, and paid when time passes next.
    static void note_tile();

private:
    struct PowerCut {};  // Of no exception's class: nothing on the way takes it for a failure of its own.

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
    std::uint64_t tiles_ = 0;    ///< Hashed and not paid for.
    std::uint64_t waits_ = 0;    ///< Which of its waits it is in: a wait that was cut short is over.
    Millis worked_ = 0;
    std::uint64_t seed_ = 0;
    /// One of the two threads runs, never both: the worker from `go_` on, the simulation from `back_` on.
    std::binary_semaphore go_{0}, back_{0};
    std::thread thread_;
};

/// Runners whose steps take the machine's time.
solver::RunnerFactory timed_runners(solver::RunnerFactory inner);

/// The seed that this thread plays, for the message of an abort.
std::uint64_t& seed_of_this_thread() noexcept;

}  // namespace retrace::sim
