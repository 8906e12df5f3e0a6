// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "kernels/exec/executor.hpp"
#include "kernels/exec/unit_runner.hpp"
#include "kernels/offload/state_store.hpp"

namespace retrace::kernels {

/// Runs the units of a plan in a room, and beside them the transfers between the room and the disk in a thread.
class OffloadedStep {
public:
    /// `runner` must outlive it; `offload` is a plan for the runner's plan.
    OffloadedStep(const UnitRunner& runner, OffloadPlan offload) : runner_(runner), offload_(std::move(offload)) {}

    const OffloadPlan& plan() const noexcept { return offload_; }
    /// Called for each op while its output is in the room (null if it never is); the step ends when it returns false.
    using AfterOp = std::function<bool(std::uint32_t op, const std::uint8_t* output)>;
    /// Runs a step from the current values in `store`; its next values are there afterwards, but not yet current.
    /// `room` has plan().room bytes. Data sets are read where they are.
    Status<> run(StateStore& store, std::uint8_t* room, const Inputs& inputs, const UnitRunner::Step& step,
                 const AfterOp& after) const;
    /// Seconds for which the units of the last step waited for transfers.
    double seconds_waited() const noexcept { return waited_; }

private:
    void find_addresses(std::uint32_t unit, const std::uint8_t* room, UnitRunner::Addresses& at) const;
    void copy_state(std::uint32_t state, const UnitRunner::Addresses& at) const;

    const UnitRunner& runner_;
    const OffloadPlan offload_;
    mutable double waited_ = 0;
};

}  // namespace retrace::kernels
