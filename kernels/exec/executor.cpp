// SPDX-License-Identifier: MIT
#include "kernels/exec/executor.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "kernels/commit/commitment.hpp"
#include "kernels/exec/dispute_memory.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/metric.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "kernels/exec/unit_runner.hpp"
#include "kernels/runtime/dispatch.hpp"
#include "kernels/runtime/pages.hpp"
#include "kernels/scalar/float_environment.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {
namespace {

/// The program that runs, with its plan and the memory for it, which is allocated at the first use.
struct Workspace {
    UnitRunner runner;
    std::uint64_t bytes = 0;  ///< Bytes of the arena and of every thread's memory for fused runs.
    Pages arena;
    ChunkMemory chunk_memory;

    Workspace(const Program& p, Backend backend, const PlanOptions& options, unsigned threads)
        : runner(p, backend == Backend::reference, options),
          bytes(runner.plan().bytes + threads * runner.plan().chunk_bytes) {}

    const MemoryPlan& plan() const noexcept { return runner.plan(); }
    void release() {
        arena.reset();
        chunk_memory.clear();
    }
    void reserve() {
        if (arena || bytes == 0) return;
        arena = take_pages(bytes);  // Throws NoMemory if the machine has less than the program needs.
        for (std::uint64_t at = plan().bytes; at < bytes; at += plan().chunk_bytes) chunk_memory.add(arena.get() + at);
    }
};

}  // namespace

struct Executor::Impl {
    /// Called for each op after it has run (`output` is null if it was never in memory as a whole); the step ends when
    /// it returns false.
    using AfterOp = std::function<bool(std::uint32_t op, const std::uint8_t* output)>;

    const Program& program;
    ThreadPool& pool;
    Backend backend;
    const Program rewritten;  ///< The rewritten program that a step runs; a trace shows the program itself.
    Workspace fast, isolated;
    Tamper tamper;
    std::unique_ptr<ExternalBackend> external;  ///< If not null, it runs the steps.

    Impl(const Program& p, ThreadPool& threads, Backend b, Fusion fusion)
        : program(p),
          pool(threads),
          backend(b),
          rewritten(b == Backend::cpu ? with_constants_first(rematerialise(p)) : p),
          fast(rewritten, b, {b == Backend::reference, cpu_level() != CpuLevel::scalar, fusion}, threads.threads()),
          isolated(p, b, {true, true, Fusion::none}, threads.threads()) {}

    std::uint64_t bytes_of(std::uint32_t tensor) const {
        const TensorRecord& record = program.tensors[tensor];
        return geometry(record.dims).elements() * size_of(record.dtype);
    }

    void check_tensor(std::uint32_t index, const Tensor& tensor) const {
        const TensorRecord& record = program.tensors[index];
        ensure(tensor.dtype == record.dtype && tensor.dims == record.dims && tensor.data.size() == bytes_of(index),
               "state and data sets as the program records them");
    }

    /// Addresses of all tensors of a step.
    std::vector<const std::uint8_t*> addresses(const Workspace& space, const State& state, const Inputs& inputs) const {
        std::vector<const std::uint8_t*> at(space.runner.program().tensors.size());
        ensure(state.tensors.size() == program.states && inputs.datasets.size() == program.datasets,
               "as many state tensors and data sets as the program has");
        std::uint32_t t = 0;
        for (std::uint32_t i = 0; i < program.states; ++i, ++t) {
            check_tensor(t, state.tensors[i]);
            at[t] = state.tensors[i].data.data();
        }
        for (std::uint32_t i = 0; i < program.constants; ++i, ++t) at[t] = program.constant_data[i].data.data();
        for (std::uint32_t i = 0; i < program.datasets; ++i, ++t) {
            check_tensor(t, *inputs.datasets[i]);
            at[t] = inputs.datasets[i]->data.data();
        }
        for (const BufferLocation& place : space.plan().places) {
            if (place.where == BufferLocation::Where::arena) at[t] = space.arena.get() + place.at;
            if (place.where == BufferLocation::Where::state || place.where == BufferLocation::Where::alias ||
                place.where == BufferLocation::Where::gathered)
                at[t] = at[place.at];
            ++t;
        }
        return at;
    }

    void apply_tamper(std::uint64_t step, std::uint32_t op, std::uint8_t* output) const {
        const TensorRecord& record = program.tensors[program.output_of(op)];
        Tensor tensor{record.dtype, record.dims, Bytes(output, output + bytes_of(program.output_of(op)))};
        tamper(step, op, tensor);
        ensure(tensor.data.size() == bytes_of(program.output_of(op)), "tampering keeps the size");
        if (!tensor.data.empty()) std::memcpy(output, tensor.data.data(), tensor.data.size());
    }

    /// Runs the ops and returns the addresses of the tensors that are in memory.
    std::vector<const std::uint8_t*> run(Workspace& space, const State& state, const Inputs& inputs,
                                         const AfterOp& after) {
        const FloatEnvironment contract;
        (&space == &fast ? isolated : fast).release();  // Memory quotas count only the larger of both.
        space.reserve();
        const std::vector<const std::uint8_t*> at = addresses(space, state, inputs);
        const MemoryPlan& plan = space.plan();
        if (!plan.fused_runs.empty()) space.chunk_memory.begin(at);
        const UnitRunner::Step step{inputs.seed, state.step, space.chunk_memory, pool};
        for (std::uint32_t number = 0; number < plan.units.size(); ++number) {
            const PlanUnit& unit = plan.units[number];
            space.runner.run(number, at, step);
            for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
                auto* output = const_cast<std::uint8_t*>(at[space.runner.program().output_of(op)]);
                if (tamper) apply_tamper(state.step, op, output);
                if (after && !after(op, output)) return at;
            }
        }
        return at;
    }
};

Executor::Executor(const Program& program, ThreadPool& pool, Backend backend, Fusion fusion)
    : impl_(std::make_unique<Impl>(program, pool, backend, fusion)) {}
Executor::Executor(const Program& program, ThreadPool& pool, std::unique_ptr<ExternalBackend> external)
    : impl_(std::make_unique<Impl>(program, pool, Backend::cpu, Fusion::runs)) {
    impl_->external = std::move(external);
}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;

std::uint64_t Executor::planned_bytes() const noexcept {
    return impl_->external ? impl_->external->planned_bytes() : impl_->fast.bytes + impl_->fast.runner.scratch_bytes();
}

std::uint64_t Executor::dispute_bytes() const noexcept {
    return impl_->isolated.bytes + impl_->isolated.runner.scratch_bytes() + move_memory_bytes(impl_->program) +
           2 * state_bytes(impl_->program);
}

ExternalBackend* Executor::external() const noexcept { return impl_->external.get(); }

void Executor::set_tamper(Tamper tamper) {
    ensure(impl_->external == nullptr, "tampering is done by the CPU back ends");
    impl_->tamper = std::move(tamper);
}

std::vector<Metric> Executor::step(State& state, const Inputs& inputs) { return *attempt(state, inputs, {}); }

std::optional<std::vector<Metric>> Executor::attempt(State& state, const Inputs& inputs, const StopToken& stop) {
    if (ExternalBackend* const there = impl_->external.get(); there != nullptr) {
        there->load(state, inputs);
        std::vector<Metric> metrics = there->advance();
        there->store(state);
        return metrics;
    }
    Workspace& space = impl_->tamper ? impl_->isolated : impl_->fast;
    const Program& program = space.runner.program();
    std::vector<Metric> metrics;
    bool left = false;
    const auto at = impl_->run(space, state, inputs, [&](std::uint32_t op, const std::uint8_t* output) {
        const TensorRecord& record = program.tensors[program.output_of(op)];
        if (is_metric(record)) metrics.push_back({record.name, from_bits(load_u32(output))});
        left = stop.stop_requested();
        return !left;
    });
    if (left) {
        state.tensors.clear();
        return std::nullopt;
    }
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const std::uint32_t writer = program.tensors[i].writer;
        if (writer == kNoWriter) continue;
        const std::uint8_t* next = at[program.output_of(writer)];
        Bytes& data = state.tensors[i].data;
        if (next != data.data() && !data.empty()) std::memcpy(data.data(), next, data.size());
    }
    ++state.step;
    return metrics;
}

std::vector<Hash32> Executor::trace(const State& state, const Inputs& inputs) {
    const Program& program = impl_->program;
    std::vector<Hash32> roots;
    roots.reserve(program.ops.size());
    impl_->run(impl_->isolated, state, inputs, [&](std::uint32_t op, const std::uint8_t* output) {
        const TensorRecord& record = program.tensors[program.output_of(op)];
        roots.push_back(tensor_root(output, record.dtype, record.dims, impl_->pool));
        return true;
    });
    return roots;
}

void Executor::inspect(const State& state, const Inputs& inputs, const Look& look) {
    Workspace& space = impl_->isolated;
    impl_->fast.release();
    space.reserve();  // `run` reuses this memory, so the addresses stay valid
    const auto at = impl_->addresses(space, state, inputs);
    impl_->run(space, state, inputs, [&](std::uint32_t op, const std::uint8_t* output) {
        std::vector<const std::uint8_t*> operands;
        for (const std::uint32_t input : impl_->program.ops[op].inputs) operands.push_back(at[input]);
        look(op, operands, output);
        return true;
    });
}

Tensor Executor::output(const State& state, const Inputs& inputs, std::uint32_t op) {
    return std::move(outputs(state, inputs, {op}).front());
}

std::vector<Tensor> Executor::outputs(const State& state, const Inputs& inputs, const std::vector<std::uint32_t>& ops) {
    const Program& program = impl_->program;
    std::vector<Tensor> found;
    if (ops.empty()) return found;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        ensure(ops[i] < program.ops.size() && (i == 0 || ops[i - 1] < ops[i]), "ops of the program, ascending");
    }
    impl_->run(impl_->isolated, state, inputs, [&](std::uint32_t op, const std::uint8_t* output) {
        if (op != ops[found.size()]) return true;
        const TensorRecord& record = program.tensors[program.output_of(op)];
        found.push_back({record.dtype, record.dims, Bytes(output, output + impl_->bytes_of(program.output_of(op)))});
        return found.size() < ops.size();
    });
    return found;
}

State run_initialiser(const Program& program, std::uint64_t seed, ThreadPool& pool) {
    State state;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        ensure(program.tensors[i].writer != kNoWriter, "an initialiser writes every state tensor");
        state.tensors.push_back(zeros(program.tensors[i].dtype, program.tensors[i].dims));
    }
    Executor executor(program, pool);
    executor.step(state, Inputs{seed, {}});
    state.step = 0;
    return state;
}

}  // namespace retrace::kernels
