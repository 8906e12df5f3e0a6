// SPDX-License-Identifier: MIT
#include "kernels/offload/offloaded_step.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "kernels/scalar/float_environment.hpp"

namespace retrace::kernels {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Runs a plan's transfers in a thread, each as soon as its units are done.
class TransferThread {
public:
    TransferThread(const OffloadPlan& plan, StateStore& store, std::uint8_t* room)
        : plan_(plan), store_(store), room_(room), thread_([this] { run(); }) {}
    ~TransferThread() { (void)stop(); }
    TransferThread(const TransferThread&) = delete;
    TransferThread& operator=(const TransferThread&) = delete;

    /// Waits until `count` transfers are done, or one failed; returns the seconds that took.
    double wait_for(std::uint32_t count) {
        std::unique_lock lock(mutex_);
        if (transfers_done_ >= count || failed_) return 0;
        const double begin = now();
        changed_.wait(lock, [&] { return transfers_done_ >= count || failed_; });
        return now() - begin;
    }
    void unit_done() {
        const std::lock_guard lock(mutex_);
        ++units_done_;
        changed_.notify_all();
    }
    bool failed() {
        const std::lock_guard lock(mutex_);
        return failed_.has_value();
    }
    /// Ends the thread; transfers that it has not begun do not run.
    Status<> stop() {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
            changed_.notify_all();
        }
        if (thread_.joinable()) thread_.join();
        if (failed_) return Unexpected{*failed_};
        return Unit{};
    }

private:
    void run() {
        for (const Transfer& transfer : plan_.transfers) {
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return stopped_ || units_done_ >= transfer.after; });
                if (stopped_) return;
            }
            const Status<> ran = store_.run(transfer, plan_.blocks[transfer.block], room_);
            const std::lock_guard lock(mutex_);
            if (!ran) failed_ = ran.error();
            ++transfers_done_;
            changed_.notify_all();
            if (failed_) return;
        }
    }

    const OffloadPlan& plan_;
    StateStore& store_;
    std::uint8_t* const room_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint32_t units_done_ = 0, transfers_done_ = 0;
    bool stopped_ = false;
    std::optional<Error> failed_;
    std::thread thread_;  // Last, because it uses the others.
};

}  // namespace

void OffloadedStep::find_addresses(std::uint32_t unit, const std::uint8_t* room, UnitRunner::Addresses& at) const {
    const auto set = [&](std::uint32_t tensor) {
        for (const Placement& placement : offload_.units[unit])
            if (placement.block == offload_.block_of[tensor]) at[tensor] = room + placement.at;
    };
    const Program& program = runner_.program();
    const auto& units = runner_.plan().units;
    if (unit >= units.size()) {
        const std::uint32_t state = offload_.copies[unit - units.size()];
        set(state);
        return set(program.output_of(program.tensors[state].writer));
    }
    for (std::uint32_t op = units[unit].first; op < units[unit].end(); ++op) {
        for (const std::uint32_t input : program.ops[op].inputs) set(input);
        set(program.output_of(op));
    }
}

void OffloadedStep::copy_state(std::uint32_t state, const UnitRunner::Addresses& at) const {
    const TensorRecord& record = runner_.program().tensors[state];
    // The const_cast is allowed: the state tensor's place in the room is ours.
    std::memcpy(const_cast<std::uint8_t*>(at[state]), at[runner_.program().output_of(record.writer)],
                geometry(record.dims).elements() * size_of(record.dtype));
}

Status<> OffloadedStep::run(StateStore& store, std::uint8_t* room, const Inputs& inputs, const UnitRunner::Step& step,
                            const AfterOp& after) const {
    const FloatEnvironment contract;
    const Program& program = runner_.program();
    UnitRunner::Addresses at(program.tensors.size());
    for (std::uint32_t i = 0; i < program.constants; ++i) at[program.states + i] = program.constant_data[i].data.data();
    for (std::uint32_t i = 0; i < program.datasets; ++i)
        at[program.states + program.constants + i] = inputs.datasets[i]->data.data();
    const std::vector<std::uint32_t> owners = memory_owners(program, runner_.plan());
    for (std::uint32_t t = 0; t < at.size(); ++t) at[t] = at[owners[t]];

    waited_ = 0;
    TransferThread transfers(offload_, store, room);
    const auto& units = runner_.plan().units;
    bool left = false;
    for (std::uint32_t unit = 0; unit < offload_.units.size() && !left; ++unit) {
        waited_ += transfers.wait_for(offload_.needed[unit]);
        if (transfers.failed()) break;
        find_addresses(unit, room, at);
        if (unit >= units.size()) {
            copy_state(offload_.copies[unit - units.size()], at);
        } else {
            if (units[unit].fused_run != kNoFusedRun) step.own.begin(at);
            runner_.run(unit, at, step);
            for (std::uint32_t op = units[unit].first; op < units[unit].end() && !left; ++op)
                left = !after(op, at[program.output_of(op)]);
        }
        transfers.unit_done();
    }
    if (!left) waited_ += transfers.wait_for(static_cast<std::uint32_t>(offload_.transfers.size()));
    return transfers.stop();
}

}  // namespace retrace::kernels
