// SPDX-License-Identifier: MIT
// Runs a program in less memory than its state and activations take: they lie on disk, and in a room of fixed size while
// a unit of the plan uses them. Every bit is that of Executor.
#pragma once

#include "kernels/offload/disk_speed.hpp"
#include "kernels/offload/offloaded_step.hpp"
#include "kernels/runtime/pages.hpp"
#include "kernels/runtime/stop_token.hpp"

namespace retrace::kernels {

struct OffloadOptions {
    ScratchFolder folder;  ///< Where the disk is; the files there have no name and go with the process.
    /// Bytes for the room, and for the threads' own memory and scratch. The program with its constants and the data
    /// sets are not counted.
    std::uint64_t memory = 0;
    double slowest_disk =
        kSlowestDisk;  ///< Bytes a second below which the disk is refused, read or written; 0: not measured.
};

/// Bytes of memory: what the whole program takes without a disk, the least with which it runs at all, and the least with
/// which traces and outputs do.
struct OffloadMemory {
    std::uint64_t whole = 0, least = 0, traces = 0;
};

class OffloadedExecutor final : public ExternalBackend {
public:
    /// `program` must have passed `check`; it and `pool` must outlive the executor. Errors: too little memory, with the
    /// bytes of the least that works; a disk that is too slow, with its speed; those of ScratchFile.
    static Result<std::unique_ptr<OffloadedExecutor>> create(const Program& program, ThreadPool& pool,
                                                             const OffloadOptions& options);
    static OffloadMemory memory_of(const Program& program, const ThreadPool& pool);
    ~OffloadedExecutor() override;

    /// Bytes of memory that it has: at most those of the options.
    std::uint64_t planned_bytes() const noexcept override;
    /// Bytes that a step reads from the disk and writes to it; seconds for which the last step waited for it.
    std::uint64_t bytes_read() const noexcept;
    std::uint64_t bytes_written() const noexcept;
    double seconds_waited() const noexcept;
    /// Whether the file bypasses the page cache.
    bool direct() const noexcept;

    // One tensor at a time, so that no caller needs memory for the state.
    /// Begins with a state of step `step`, each of whose tensors must be put.
    void begin(std::uint64_t step, const Inputs& inputs);
    void put(std::uint32_t state, const Tensor& tensor);
    /// Puts the state that the initialiser `init` makes with the seed; it runs in the same memory. The errors are those
    /// of `create`, and an initialiser of other states; after others the state has to
    /// be put again. `init` must have passed `check`.
    Status<> put_initialised(const Program& init, std::uint64_t seed);
    Tensor tensor(std::uint32_t state);
    /// The same bytes in the executor's own memory; valid until its next call.
    View bytes(std::uint32_t state);
    /// `advance`, except that `stop` may be polled between ops. If it requests a stop, the result is nullopt and the state
    /// is that before the call.
    std::optional<std::vector<Metric>> attempt(const StopToken& stop);
    /// The tensor of the state at the last begin_roots.
    Tensor committed_tensor(std::uint32_t state);
    /// `trace` and `outputs` of the step from the present state.
    std::vector<Hash32> trace();
    std::vector<Tensor> outputs(const std::vector<std::uint32_t>& ops);

    // A failure of the disk is thrown as std::runtime_error with the error's message. The state is then what it was
    // before the call, but after `load`, which has to be repeated.
    void load(const State& state, const Inputs& inputs) override;
    std::vector<Metric> advance() override;
    void store(State& state) override;
    std::vector<Hash32> roots() override;
    void begin_roots() override;
    /// Hashes them now: the disk is busy with the steps meanwhile.
    std::vector<Hash32> finish_roots() override;
    void store_committed(State& state) override;
    std::vector<Hash32> trace(const State& state, const Inputs& inputs) override;
    std::vector<Tensor> outputs(const State& state, const Inputs& inputs,
                                const std::vector<std::uint32_t>& ops) override;

private:
    struct Impl;
    explicit OffloadedExecutor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::kernels
