// SPDX-License-Identifier: MIT
// Threads for requests that take long, apart from those that move bytes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace retrace::node::rpc {

/// Clients take turns, so what one of them queues keeps only itself waiting. A named client never has all
/// threads at once (if there are two or more), and when there is no place left, the one that has most gives
/// one up. Those without a name, who are on this machine, are one client, with places and a thread of its own
/// besides. Thread-safe.
class WorkPool {
public:
    struct Limits {
        unsigned threads = 2;
        unsigned local_threads = 1;           ///< More, for this machine alone.
        std::size_t waiting = 256;            ///< Of all named clients, and as many of this machine.
        std::size_t waiting_per_client = 64;  ///< Of a named client.
    };
    enum class JobOutcome : std::uint8_t { runs, given_up };
    /// Called once, or never when it is withdrawn or the pool stops before; what is given up is so on the
    /// thread of whoever came instead.
    using Job = std::function<void(JobOutcome)>;
    /// Names a job that was taken; 0: none.
    using JobId = std::uint64_t;

    explicit WorkPool(Limits limits) : limits_(limits) {}
    ~WorkPool() { stop(); }
    WorkPool(const WorkPool&) = delete;

    void start();
    /// 0 when too many wait, or after `stop`. `job` does not throw. What throws here changes nothing.
    JobId add(const std::string& client, Job job);
    /// Destroys a job that still waits; false when there is none, as of one that runs or ran.
    bool withdraw(const std::string& client, JobId job_id) noexcept;
    /// Idempotent. Waits for the jobs that run; those that wait are destroyed.
    void stop() noexcept;

private:
    struct Waiting {
        JobId job_id = 0;
        Job job;
    };
    struct Client {
        std::deque<Waiting> waiting;
        unsigned running = 0;
    };
    using Clients = std::map<std::string, Client>;
    using Turns = std::deque<Clients::iterator>;

    void run(bool local);
    /// The first client in line that may run; the end when there is none.
    Turns::iterator next(bool local);
    /// The named client with most that wait, if it has more than `own`; nullptr otherwise.
    Client* with_most(std::size_t own);
    void insert(const std::string& client, Waiting waiting);
    void forget_idle(Clients::iterator client) noexcept;

    const Limits limits_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable wake_;
    Clients clients_;          // those that wait or run
    Turns turns_;              // those that wait, each once
    std::size_t waiting_ = 0;  // of named clients
    JobId last_ticket_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace retrace::node::rpc
