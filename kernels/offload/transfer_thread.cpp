// SPDX-License-Identifier: MIT
#include "kernels/offload/transfer_thread.hpp"

#include <chrono>
#include <utility>

namespace retrace::kernels {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

TransferThread::TransferThread(const OffloadPlan& plan, Run run)
    : plan_(plan), run_(std::move(run)), thread_([this] { this->run(); }) {}

TransferThread::~TransferThread() { (void)stop(); }

double TransferThread::wait_for(std::uint32_t count) {
    std::unique_lock lock(mutex_);
    if (transfers_done_ >= count || failed_) return 0;
    const double begin = now();
    changed_.wait(lock, [&] { return transfers_done_ >= count || failed_; });
    return now() - begin;
}

void TransferThread::unit_done() {
    const std::lock_guard lock(mutex_);
    ++units_done_;
    changed_.notify_all();
}

bool TransferThread::failed() {
    const std::lock_guard lock(mutex_);
    return failed_.has_value();
}

Status<> TransferThread::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    if (failed_) return Unexpected{*failed_};
    return Unit{};
}

/// An exception that leaves a thread would end the process.
Status<> TransferThread::run_here(const Transfer& transfer) const {
    try {
        return run_(transfer, plan_.blocks[transfer.block]);
    } catch (const std::exception& e) {
        return error("a transfer of offloading: " + std::string(e.what()));
    }
}

void TransferThread::run() {
    for (const Transfer& transfer : plan_.transfers) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stopped_ || units_done_ >= transfer.after; });
            if (stopped_) return;
        }
        const Status<> ran = run_here(transfer);
        const std::lock_guard lock(mutex_);
        if (!ran) failed_ = ran.error();
        ++transfers_done_;
        changed_.notify_all();
        if (failed_) return;
    }
}

}  // namespace retrace::kernels
