// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "kernels/exec/offload_plan.hpp"

namespace retrace::kernels {

/// Runs a plan's transfers one after the other in a thread, each as soon as its units are done.
class TransferThread {
public:
    using Run = std::function<Status<>(const Transfer& transfer, const OffloadBlock& block)>;
    /// `plan` must outlive it.
    TransferThread(const OffloadPlan& plan, Run run);
    ~TransferThread();
    TransferThread(const TransferThread&) = delete;
    TransferThread& operator=(const TransferThread&) = delete;

    /// Waits until `count` transfers are done, or one failed; returns the seconds that took.
    double wait_for(std::uint32_t count);
    void unit_done();
    bool failed();
    /// Ends the thread, after the transfer at hand, and returns the error of the one that failed.
    Status<> stop();

private:
    void run();
    Status<> run_here(const Transfer& transfer) const;

    const OffloadPlan& plan_;
    const Run run_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint32_t units_done_ = 0, transfers_done_ = 0;
    bool stopped_ = false;
    std::optional<Error> failed_;
    std::thread thread_;  // Last, because it uses the others.
};

}  // namespace retrace::kernels
