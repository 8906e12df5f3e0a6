// SPDX-License-Identifier: MIT
// One worker process with a program set up in it, and the requests that it answers.
#pragma once

#include "solver/worker/messages.hpp"
#include "solver/worker/process.hpp"

namespace retrace::solver {

/// It ended by itself, or answered what is no answer or not in time, which is the same. `what()` says how.
class WorkerDied final : public std::runtime_error {
public:
    explicit WorkerDied(const std::string& how, bool silent = false) : std::runtime_error(how), silent_(silent) {}
    /// It did not answer, which took so long that it is not tried again at once.
    bool silent() const noexcept { return silent_; }

private:
    bool silent_;
};

struct WorkerOptions {
    std::filesystem::path executable = "/proc/self/exe";
    WorkerLimits limits;
    DeviceChoice device = DeviceChoice::cpu;
    /// So long an op may go on after its step was to be left; then the worker is ended.
    std::chrono::milliseconds leave_within{5'000};
    /// What each exchange may take beside what its program is worth (exchange_time): enough to open a device, and to
    /// plan a large program.
    std::chrono::milliseconds answer_within{600'000};
    /// A training's state comes here so often at least, so that no more has to be made again.
    std::chrono::milliseconds save_every{60'000};
};

/// All that a request and its whole answer may take together: `least`, and a second for each ten million multiply-adds
/// of a step and bytes of all tensors of the program. One thread makes a thousand times as many of either, and twice as
/// many by the ops' element rules alone on a busy machine, so no honest step takes so long on a machine that keeps to
/// any deadline. At most a year.
std::chrono::milliseconds exchange_time(const kernels::Program& program, std::chrono::milliseconds least);

/// Every call throws WorkerDied, std::bad_alloc where the worker had not the memory, and std::runtime_error in the
/// worker's words where it could not do what was asked. A call that takes longer than a step may while something waits
/// for the order of this thread throws PutOff (solver/run/preemption.hpp). After each of them nothing more can be
/// asked.
class Connection {
public:
    /// Starts the worker. `program` outlives the connection.
    Connection(const WorkerOptions& options, const std::string& label, const kernels::Program& program,
               const kernels::Inputs& inputs);

    const Ready& ready() const noexcept { return ready_; }

    void load(const kernels::State& state);
    /// Metrics of each step that was made: one at least, `most` at most. Nothing: `go_on` said no and it was left, and
    /// what was loaded is gone. Without `go_on` it is left as every other call is.
    std::optional<std::vector<std::vector<kernels::Metric>>> advance(std::uint64_t most, const kernels::GoOn& go_on);
    /// The state at `step`, into `state`, which is worth nothing after a throw.
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

    /// Ends the worker; how it ended.
    std::string end() { return process_->end(); }
    /// Whether it was ended, so that another one is needed.
    bool is_over() const noexcept { return process_->is_over(); }

private:
    /// Within an exchange.
    template <class Wanted>
    Wanted ask(const WorkerRequest& request);
    template <class Wanted>
    Wanted expect();
    WorkerReply receive();
    /// What `work` does with the channel is one exchange: as long as `go_on` says yes (where it is given), and
    /// exchange_time at most. A broken channel is a worker that died.
    template <class Work>
    auto exchange(const std::function<bool()>& go_on, Work work);
    /// The same, which is left when it has taken longer than a step may while something waits.
    template <class Work>
    auto exchange(Work work);
    void fetch(const WorkerRequest& request, std::uint64_t step, kernels::State& state);
    std::vector<Hash32> roots(const WorkerRequest& request, std::uint64_t step, std::size_t count);
    [[noreturn]] void died(const std::string& how);
    std::span<const kernels::TensorRecord> states() const {
        return std::span(program_.tensors).first(program_.states);
    }

    const kernels::Program& program_;
    std::chrono::milliseconds leave_within_, most_;
    ReplyLimits limits_;
    std::unique_ptr<WorkerProcess> process_;
    Ready ready_;
    std::uint64_t requests_ = 0;  // For steps.
};

}  // namespace retrace::solver
