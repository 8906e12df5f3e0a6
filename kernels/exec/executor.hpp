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
#include "kernels/runtime/tensor.hpp"
#include "kernels/runtime/thread_pool.hpp"

namespace retrace::kernels {

enum class Backend : std::uint8_t {
    reference = 1,  ///< The element rules of kernels/ops, looped: the definition.
    cpu = 2,        ///< Fast kernels where they exist, the reference elsewhere.
};

/// What a step depends on besides the state: everything is named by the task.
struct Inputs {
    std::uint64_t seed = 0;
    std::vector<const Tensor*>
        datasets;  ///< In program order; outlive the call; dtype and dims as recorded (asserted).
};

/// Asked between two ops; false: the step is left.
using GoOn = std::function<bool()>;

struct Metric {
    std::string name;
    float value = 0;
};

/// A back end in a library of its own, with memory of its own (CUDA). `trace` and `outputs` give what those of Executor
/// give, for the parity suite, and take the place of the state that was loaded.
class ExternalBackend {
public:
    virtual ~ExternalBackend() = default;
    virtual std::uint64_t planned_bytes() const noexcept = 0;

    // A state that stays there: it comes back only where `store` asks for it.
    virtual void load(const State& state, const Inputs& inputs) = 0;
    /// One step of the loaded state; returns the metrics.
    virtual std::vector<Metric> advance() = 0;
    /// The loaded state as it stands, into tensors of its shapes.
    virtual void store(State& state) = 0;
    /// Roots of its tensors.
    virtual std::vector<Hash32> roots() = 0;
    /// The same, hashed beside later steps; one at a time. `store_committed` gives the state of the last begin.
    virtual void begin_roots() = 0;
    virtual std::vector<Hash32> finish_roots() = 0;
    virtual void store_committed(State& state) = 0;

    virtual std::vector<Hash32> trace(const State& state, const Inputs& inputs) = 0;
    virtual std::vector<Tensor> outputs(const State& state, const Inputs& inputs,
                                        const std::vector<std::uint32_t>& ops) = 0;
};

class Executor {
public:
    /// `program` passed `check` and outlives the executor, as does `pool`.
    /// `fusion` is for tests and benchmarks, which compare (no bit depends on it).
    Executor(const Program& program, ThreadPool& pool, Backend backend = Backend::cpu,
             Fusion fusion = Fusion::bands);
    /// On `external`, made for this very program.
    Executor(const Program& program, ThreadPool& pool, std::unique_ptr<ExternalBackend> external);
    ~Executor();
    Executor(Executor&&) noexcept;

    /// Bytes of all buffers of the step, known before running (state and data sets not counted).
    std::uint64_t planned_bytes() const noexcept;
    /// Bytes of this machine's memory that a dispute takes instead: those of `trace`, those of `outputs` of one
    /// op and its inputs with their tile trees, and two states more than a party holds anyway (its account has
    /// the segment's start, a state that it keeps and one that goes on; a training that was put off has one).
    std::uint64_t dispute_bytes() const noexcept;
    /// One step: `state` (step t) becomes step t+1. Returns the program's metrics. An external back end gets the state
    /// and gives it back here; a training of many steps asks `external()` itself.
    std::vector<Metric> step(State& state, const Inputs& inputs);
    /// The same, but asks between ops whether to go on. If not: nothing, and `state` has no tensors any more, for some
    /// were those of the next step. An external back end does not ask.
    std::optional<std::vector<Metric>> attempt(State& state, const Inputs& inputs, const GoOn& go_on);
    /// Null on the CPU.
    ExternalBackend* external() const noexcept;
    /// One step without its effect, keeping every op's output root: the leaves of the trace. This and `outputs` are
    /// computed by the CPU, whatever the back end: they keep every output apart, for which a device that holds a
    /// training may have no room.
    std::vector<Hash32> trace(const State& state, const Inputs& inputs);
    /// One step without its effect, up to op `op`; returns that op's output.
    Tensor output(const State& state, const Inputs& inputs, std::uint32_t op);
    /// As `output` for several ops in one run (ascending).
    std::vector<Tensor> outputs(const State& state, const Inputs& inputs, const std::vector<std::uint32_t>& ops);

    /// Called for each op with what it reads and what it made, while both are in memory.
    using Look = std::function<void(std::uint32_t op, std::span<const std::uint8_t* const> inputs,
                                    const std::uint8_t* output)>;
    /// One step without its effect, for diagnostics. In memory and on the CPU as `trace`.
    void inspect(const State& state, const Inputs& inputs, const Look& look);

    /// Tampers with an op's output after it was computed, in the given step (adversaries of demo, simulation and
    /// tests; the decorator in solver/adversary is refused outside developer chains).
    using Tamper = std::function<void(std::uint64_t step, std::uint32_t op, Tensor& output)>;
    void set_tamper(Tamper tamper);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Runs an initialiser program (no state inputs, every state tensor written): the state before step 0.
State run_initialiser(const Program& program, std::uint64_t seed, ThreadPool& pool);

}  // namespace retrace::kernels
