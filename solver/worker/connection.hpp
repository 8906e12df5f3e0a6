// SPDX-License-Identifier: MIT
// One worker process with a program set up in it, and the requests that it answers.
#pragma once

#include "solver/worker/messages.hpp"
#include "solver/worker/process.hpp"

namespace retrace::solver {

/// The worker ended by itself, sent an invalid answer, or timed out; all are handled alike. `what()` says how.
class WorkerDied final : public std::runtime_error {
public:
    explicit WorkerDied(const std::string& how, bool silent = false) : std::runtime_error(how), silent_(silent) {}
    /// True after a timeout, which takes so long that the work is not retried at once.
    bool silent() const noexcept { return silent_; }

private:
    bool silent_;
};

struct WorkerOptions {
    std::filesystem::path executable = "/proc/self/exe";
    WorkerLimits limits;
    DeviceChoice device = DeviceChoice::cpu;
    /// Time that the worker has to abort a step after it was told to; then the worker is ended.
    std::chrono::milliseconds leave_within{5'000};
    /// Constant part of the timeout of each exchange (see exchange_time): enough to open a device and to plan a large
    /// program.
    std::chrono::milliseconds answer_within{600'000};
    /// Interval at which a training's state is copied to this process, which limits the work lost with a worker.
    std::chrono::milliseconds save_every{60'000};
};

/// Timeout of an exchange, a request and its whole answer: `least`, plus one second for each ten million multiply-adds
/// of a step and bytes of all tensors of the program. One thread does a thousand times as many of either in a second,
/// and twice as many by the ops' element rules alone on a busy machine, so no honest step takes so long on a machine
/// that keeps any deadline. At most a year.
std::chrono::milliseconds exchange_time(const kernels::Program& program, std::chrono::milliseconds least);

/// Calls throw WorkerDied, std::bad_alloc if the worker ran out of memory, and std::runtime_error with the worker's
/// message if it could not do the request. A call throws Preempted (solver/run/preemption.hpp) if it exceeds a step's
/// timeout while other work preempts this thread's order. After an exception the connection cannot be used any more.
class Connection {
public:
    /// Starts the worker. `program` must outlive the connection.
    Connection(const WorkerOptions& options, const std::string& label, const kernels::Program& program,
               const kernels::Inputs& inputs);

    const Ready& ready() const noexcept { return ready_; }

    /// A state has to be loaded afterwards.
    void set_inputs(const kernels::Inputs& inputs);
    void load(const kernels::State& state);
    /// Makes between one and `most` steps and returns the metrics of each. Returns nullopt if `stop` requested it: the
    /// step was aborted and the loaded state is lost. Without a condition it throws Preempted like every other call.
    std::optional<std::vector<std::vector<kernels::Metric>>> advance(std::uint64_t most,
                                                                     const kernels::StopToken& stop);
    /// Copies the state at `step` into `state`, which must not be used after an exception.
    void store(std::uint64_t step, kernels::State& state) { fetch(Store{}, step, state); }
    void store_committed(std::uint64_t step, kernels::State& state) { fetch(StoreCommitted{}, step, state); }
    std::vector<Hash32> commit(std::uint64_t step) { return roots(Commit{}, step, program_.states); }
    void begin_commitment();
    std::vector<Hash32> finish_commitment(std::uint64_t step) {
        return roots(FinishCommitment{}, step, program_.states);
    }
    std::vector<Hash32> trace(std::uint64_t step) { return roots(Trace{}, step, program_.ops.size()); }
    std::vector<kernels::Tensor> outputs(const std::vector<std::uint32_t>& ops);
    void partial(const Partial& which, std::span<const std::uint8_t* const> inputs, View carried_in,
                 std::span<std::uint8_t> carried_out);

    /// Ends the worker; returns how it ended.
    std::string end() { return process_->end(); }
    /// Whether the worker was ended, so that a new connection is needed.
    bool is_over() const noexcept { return process_->is_over(); }

private:
    /// Sends a request and receives its answer; must be called within `exchange`.
    template <class Wanted>
    Wanted ask(const WorkerRequest& request);
    template <class Wanted>
    Wanted expect();
    WorkerReply receive();
    /// Runs `work` as one exchange on the channel, for at most exchange_time and until `stop` requests a stop.
    /// A broken channel is thrown as WorkerDied.
    template <class Work>
    auto exchange(const kernels::StopToken& stop, Work work);
    /// The same; throws Preempted if it exceeds a step's timeout while other work preempts this thread's order.
    template <class Work>
    auto exchange(Work work);
    void fetch(const WorkerRequest& request, std::uint64_t step, kernels::State& state);
    std::vector<Hash32> roots(const WorkerRequest& request, std::uint64_t step, std::size_t count);
    [[noreturn]] void died(const std::string& how);
    std::span<const kernels::TensorRecord> states() const { return std::span(program_.tensors).first(program_.states); }

    const kernels::Program& program_;
    std::chrono::milliseconds leave_within_, most_;
    ReplyLimits limits_;
    std::unique_ptr<WorkerProcess> process_;
    Ready ready_;
    std::uint64_t requests_ = 0;  // Number of the last Advance request.
};

}  // namespace retrace::solver
