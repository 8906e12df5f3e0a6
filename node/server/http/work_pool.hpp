// SPDX-License-Identifier: MIT
// Thread pool for long requests, separate from the I/O threads.
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

/// Clients take turns, so the queue of one client delays only itself. A named client never occupies all threads (if
/// there are two or more); when the queue is full, the named client with the most waiting jobs loses one. The unnamed
/// client is this machine; it has places and threads of its own in addition. Thread-safe.
class WorkPool {
public:
    struct Limits {
        unsigned threads = 2;
        unsigned local_threads = 1;           ///< Additional threads for this machine only.
        std::size_t waiting = 256;            ///< Queue size for all named clients; as many more for this machine.
        std::size_t waiting_per_client = 64;  ///< Queue size for a named client.
    };
    enum class JobOutcome : std::uint8_t { runs, given_up };
    /// Called once, or never if it is withdrawn or the pool stops first. `given_up` is reported on the thread that adds
    /// the job that takes its place.
    using Job = std::function<void(JobOutcome)>;
    /// Identifies an accepted job; 0: none.
    using JobId = std::uint64_t;

    explicit WorkPool(Limits limits) : limits_(limits) {}
    ~WorkPool() { stop(); }
    WorkPool(const WorkPool&) = delete;

    void start();
    /// Queues a job; returns 0 if too many wait or after `stop`. `job` must not throw. If `add` throws, nothing
    /// changed.
    JobId add(const std::string& client, Job job);
    /// Destroys a waiting job; returns false if it does not wait, e.g. because it has started.
    bool withdraw(const std::string& client, JobId job_id) noexcept;
    /// Waits for the running jobs and destroys the waiting ones. Idempotent.
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
    /// The first client in turn that may run a job; the end if there is none.
    Turns::iterator next(bool local);
    /// The named client with the most waiting jobs, if more than `own`; nullptr otherwise.
    Client* with_most(std::size_t own);
    void insert(const std::string& client, Waiting waiting);
    void forget_idle(Clients::iterator client) noexcept;

    const Limits limits_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable wake_;
    Clients clients_;          // clients with waiting or running jobs
    Turns turns_;              // clients with waiting jobs, each once
    std::size_t waiting_ = 0;  // waiting jobs of named clients
    JobId last_job_id_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace retrace::node::rpc
