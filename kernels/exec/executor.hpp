// SPDX-License-Identifier: MIT
// Runs a program step by step. Back end, thread count and memory plan never change a bit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kernels/exec/plan.hpp"
#include "kernels/runtime/stop_token.hpp"
#include "kernels/runtime/tensor.hpp"
#include "kernels/runtime/thread_pool.hpp"

namespace retrace::kernels {

enum class Backend : std::uint8_t {
    reference = 1,  ///< The element rules of kernels/ops, looped: the definition.
    cpu = 2,        ///< Fast kernels where they exist, the reference elsewhere.
};

/// The inputs of a step besides the state; all of them are named by the task.
struct Inputs {
    std::uint64_t seed = 0;
    std::vector<const Tensor*>
        datasets;  ///< In program order; they must outlive the call and match the recorded dtype and dims (asserted).
};

struct Metric {
    std::string name;
    float value = 0;
};

/// A back end in a separate library with its own memory (CUDA). `trace` and `outputs` return the same results as those
/// of Executor, for the parity suite; they replace the loaded state.
class ExternalBackend {
public:
    virtual ~ExternalBackend() = default;
    virtual std::uint64_t planned_bytes() const noexcept = 0;

    // The state stays on the back end; it is copied back only by `store`.
    virtual void load(const State& state, const Inputs& inputs) = 0;
    /// Runs one step of the loaded state and returns the metrics.
    virtual std::vector<Metric> advance() = 0;
    /// Copies the loaded state into `state`, whose tensors have its shapes.
    virtual void store(State& state) = 0;
    /// Returns the roots of the loaded state's tensors.
    virtual std::vector<Hash32> roots() = 0;
    /// The same, hashed concurrently with later steps; only one such commitment may be under way. `store_committed`
    /// copies the state of the last begin.
    virtual void begin_roots() = 0;
    virtual std::vector<Hash32> finish_roots() = 0;
    virtual void store_committed(State& state) = 0;

    virtual std::vector<Hash32> trace(const State& state, const Inputs& inputs) = 0;
    virtual std::vector<Tensor> outputs(const State& state, const Inputs& inputs,
                                        const std::vector<std::uint32_t>& ops) = 0;
};

class Executor {
public:
    /// `program` must have passed `check`; `program` and `pool` must outlive the executor.
    /// `fusion` is for tests and benchmarks that compare the settings (no bit depends on it).
    Executor(const Program& program, ThreadPool& pool, Backend backend = Backend::cpu, Fusion fusion = Fusion::runs);
    /// Runs steps on `external`, which must have been made for this program.
    Executor(const Program& program, ThreadPool& pool, std::unique_ptr<ExternalBackend> external);
    ~Executor();
    Executor(Executor&&) noexcept;

    /// Bytes of all buffers of the step, known before running (state and data sets not counted).
    std::uint64_t planned_bytes() const noexcept;
    /// Bytes of host memory that a dispute takes instead of a step: for `trace`, for `outputs` of one op and its inputs
    /// with their tile trees, and for two states more than a party holds anyway (its own replay holds the segment's
    /// start, a kept state and the current one; a postponed training has one state).
    std::uint64_t dispute_bytes() const noexcept;
    /// Runs one step: `state` goes from step t to step t+1. Returns the program's metrics. With an external back end,
    /// each call copies the state there and back; a training of many steps should use `external()` directly.
    std::vector<Metric> step(State& state, const Inputs& inputs);
    /// The same, but polls `stop` between ops. If it requests a stop, the result is empty and `state` has no tensors
    /// afterwards, because some of them were already overwritten by the next step. An external back end does not
    /// poll it.
    std::optional<std::vector<Metric>> attempt(State& state, const Inputs& inputs, const StopToken& stop);
    /// Null on the CPU.
    ExternalBackend* external() const noexcept;
    /// Runs one step without changing `state` and returns every op's output root, the leaves of the trace. This and
    /// `outputs` always run on the CPU, because they keep every output in a place of its own, for which a device that
    /// holds a training may have no memory.
    std::vector<Hash32> trace(const State& state, const Inputs& inputs);
    /// Runs one step without changing `state`, up to op `op`, and returns that op's output.
    Tensor output(const State& state, const Inputs& inputs, std::uint32_t op);
    /// Like `output`, for several ops (ascending) in one run.
    std::vector<Tensor> outputs(const State& state, const Inputs& inputs, const std::vector<std::uint32_t>& ops);

    /// Called for each op with the addresses of its inputs and its output, while both are in memory.
    using Look =
        std::function<void(std::uint32_t op, std::span<const std::uint8_t* const> inputs, const std::uint8_t* output)>;
    /// Runs one step without changing `state`, for diagnostics; in memory and on the CPU like `trace`.
    void inspect(const State& state, const Inputs& inputs, const Look& look);

    /// Changes an op's output after it was computed, in the given step (for adversaries in demo, simulation and tests;
    /// the decorator in solver/attacks is refused outside developer chains).
    using Tamper = std::function<void(std::uint64_t step, std::uint32_t op, Tensor& output)>;
    void set_tamper(Tamper tamper);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Runs an initialiser program (no state inputs, every state tensor written) and returns the state before step 0.
State run_initialiser(const Program& program, std::uint64_t seed, ThreadPool& pool);

}  // namespace retrace::kernels
