// SPDX-License-Identifier: MIT
#include "kernels/cuda/executor.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "kernels/cuda/layout.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/trees.hpp"
#include "kernels/cuda/units.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels::cuda {

namespace {

/// Returns the bytes that a program may take to be fast: half of the memory, so that there is room for another training,
/// and three quarters of what is free, so that the runtime has some for kernels and graphs.
std::uint64_t room_of(const Device& device) { return std::min(device.memory / 2, device.free / 4 * 3); }

}  // namespace

struct DeviceExecutor::Impl {
    /// Memory of isolated runs: the arena, one elementwise step, and a workspace for the op of the given program that
    /// needs most or for the digests of the largest output.
    struct IsolatedSpace {
        std::uint64_t step = 0, workspace = 0, bytes = 0;
    };

    const Program& given;   ///< The given program, whose op numbers traces and outputs use.
    const Program program;  ///< The program that a step runs instead, with the same states and metrics.
    Device device;
    Queue queue;
    std::vector<OpFacts> given_facts, facts;
    MemoryPlan plan;
    Layout layout;
    Memory memory;
    std::vector<std::uint8_t*> at;  ///< Address of every tensor of a step; null if it is in a scratch slot.
    std::optional<DeviceUnits> units;
    std::optional<DeviceTrees> state_trees;
    std::optional<DeviceCommitter> committer;
    std::uint64_t committed_step = 0;
    Recording recording;
    std::uint64_t seed = 0, step_number = 0;
    bool loaded = false;
    bool warm = false;  ///< Every kernel has run once, so that recording loads no code.

    MemoryPlan isolated_plan;
    IsolatedSpace isolated_space;
    Memory isolated;  ///< Allocated by the first trace or outputs.

    Impl(const Program& p, std::uint64_t room, Device d, Queue q, std::optional<MemoryPlan> wished)
        : given(p),
          program(for_device(p, room)),
          device(std::move(d)),
          queue(std::move(q)),
          given_facts(facts_of_ops(given)),
          facts(facts_of_ops(program)),
          plan(wished ? std::move(*wished) : plan_for_device(program)),
          layout(lay_out(program, facts, plan)) {}

    /// An error if nothing was loaded, or if the newest load failed half-way.
    Status<> has_state() const {
        if (!loaded) return error("no state is loaded on the device");
        return retrace::Unit{};
    }

    Status<> take_memory() {
        RETRACE_TRY(taken, Memory::take(layout.bytes));
        memory = std::move(taken);
        at = addresses(program, plan, layout, memory.data(), memory.data() + layout.arena);
        std::vector<DeviceTrees::Entry> entries;
        for (std::uint32_t i = 0; i < program.states; ++i) {
            entries.push_back({at[i], program.tensors[i].dtype, program.tensors[i].dims});
        }
        state_trees.emplace(std::move(entries));
        ensure(state_trees->bytes() <= layout.workspace_bytes, "the workspace holds the digests of the state");
        committer.emplace(committed_tensors(program, at), memory.data() + layout.commitment);
        for (std::uint32_t i = 0; i < program.constants; ++i) {
            const Bytes& data = program.constant_data[i].data;
            RETRACE_CHECK(queue.copy_in(at[program.states + i], data.data(), data.size()));
        }
        units.emplace(program, facts, plan, layout, device, memory.data());
        return units->upload(queue, [&](std::uint32_t) -> const DeviceAddresses& { return at; });
    }

    std::uint64_t* clock() const { return reinterpret_cast<std::uint64_t*>(memory.data() + layout.clock); }

    OpRun op_run(std::uint8_t* workspace) const { return {seed, clock(), workspace, device, queue.stream()}; }

    /// Queues the whole step: ops, metrics, the next state, the step number. A metric is copied right after its unit,
    /// because a sound plan keeps it no longer (check_plan).
    void queue_all() {
        std::size_t metric = 0;
        for (std::uint32_t number = 0; number < plan.units.size(); ++number) {
            const PlanUnit& unit = plan.units[number];
            units->queue(number, at, op_run(memory.data() + layout.workspace));
            for (; metric < layout.metrics.size() && layout.metrics[metric] < unit.end(); ++metric) {
                queue.copy(memory.data() + layout.metric_values + 4 * metric,
                           at[program.output_of(layout.metrics[metric])], 4);
            }
        }
        for (std::uint32_t i = 0; i < program.states; ++i) {
            const std::uint32_t writer = program.tensors[i].writer;
            if (writer == kNoWriter || at[program.output_of(writer)] == at[i]) continue;
            queue.copy(at[i], at[program.output_of(writer)], tensor_bytes(program.tensors[i]));
        }
        advance_step(queue.stream(), clock());
    }

    Status<> record() {
        RETRACE_CHECK(queue.begin_recording());
        queue_all();
        RETRACE_TRY(recorded, queue.end_recording());
        recording = std::move(recorded);
        return retrace::Unit{};
    }

    Result<std::vector<Metric>> metrics() {
        std::vector<std::uint32_t> bits(layout.metrics.size());
        RETRACE_CHECK(queue.copy_out(bits.data(), memory.data() + layout.metric_values, 4 * bits.size()));
        std::vector<Metric> out;
        for (std::size_t i = 0; i < bits.size(); ++i) {
            out.push_back({program.tensors[program.output_of(layout.metrics[i])].name, from_bits(bits[i])});
        }
        return out;
    }

    using AfterOp = std::function<Status<>(std::uint32_t op, const std::uint8_t* output)>;

    IsolatedSpace space_for_isolated_runs() const {
        std::uint64_t workspace = 0;
        for (const OpFacts& op : given_facts) {
            const std::uint64_t digests = DeviceTrees({{nullptr, op.output.dtype, op.output.dims}}).bytes();
            workspace = std::max({workspace, digests, workspace_bytes(op)});
        }
        IsolatedSpace space;
        space.step = aligned_bytes(isolated_plan.bytes);
        space.workspace = space.step + aligned_bytes(sizeof(ElementStep));
        space.bytes = space.workspace + workspace;
        return space;
    }

    /// Runs the ops of the given program up to `last` one by one. No op writes into its inputs, and `after` is called
    /// before a later op may write over the output. The state is only read.
    Status<> run_isolated(std::uint32_t last, const AfterOp& after) {
        const IsolatedSpace& space = isolated_space;
        if (isolated.bytes() == 0) {
            isolated_plan = plan_memory(given, {true, false, Fusion::none});
            isolated_space = space_for_isolated_runs();
            RETRACE_TRY(taken, Memory::take(space.bytes));
            isolated = std::move(taken);
        }
        const auto tensors = addresses(given, isolated_plan, layout, memory.data(), isolated.data());
        for (std::uint32_t op = 0; op <= last && op < given_facts.size(); ++op) {
            if (is_elementwise(given_facts[op].op.code)) {
                const ElementStep step = placed_step(given, given_facts[op], op, isolated_plan, tensors);
                RETRACE_CHECK(queue.copy_in(isolated.data() + space.step, &step, sizeof step));
                const std::uint64_t cols = cols_of(given_facts[op]);
                run_elements(queue.stream(), reinterpret_cast<const ElementStep*>(isolated.data() + space.step), 1, 0,
                             geometry(given_facts[op].output.dims).elements(), cols, goes_by_quads(step, cols));
            } else {
                queue_single(given_facts[op], tensors[given.output_of(op)], tensors,
                             op_run(isolated.data() + space.workspace));
            }
            RETRACE_CHECK(after(op, tensors[given.output_of(op)]));
        }
        return retrace::Unit{};
    }
};

DeviceExecutor::DeviceExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceExecutor::~DeviceExecutor() = default;

Result<std::unique_ptr<DeviceExecutor>> DeviceExecutor::create(const Program& program, std::optional<MemoryPlan> plan) {
    RETRACE_TRY(device, find_device());
    Status<> taken = retrace::Unit{};
    for (std::uint64_t room = plan ? 0 : room_of(device);; room = 0) {
        RETRACE_TRY(queue, Queue::open());
        auto impl = std::make_unique<Impl>(program, room, device, std::move(queue), plan);
        taken = impl->take_memory();
        if (taken) return std::unique_ptr<DeviceExecutor>(new DeviceExecutor(std::move(impl)));
        if (impl->layout.bytes > room) break;  // it was the smallest
    }
    return Unexpected{std::move(taken).error()};
}

const Device& DeviceExecutor::device() const noexcept { return impl_->device; }
std::uint64_t DeviceExecutor::device_bytes() const noexcept { return impl_->layout.bytes; }
std::uint64_t DeviceExecutor::planned_bytes() const noexcept { return impl_->plan.bytes; }

Status<> DeviceExecutor::load(const State& state, const Inputs& inputs) {
    const Program& program = impl_->program;
    ensure(state.tensors.size() == program.states && inputs.datasets.size() == program.datasets,
           "as many state tensors and data sets as the program has");
    impl_->loaded = false;  // until all of it is there
    const auto bring = [&](std::uint32_t index, const Tensor& tensor) {
        const TensorRecord& record = program.tensors[index];
        ensure(tensor.dtype == record.dtype && tensor.dims == record.dims && tensor.data.size() == tensor_bytes(record),
               "state and data sets as the program records them");
        return impl_->queue.copy_in(impl_->at[index], tensor.data.data(), tensor.data.size());
    };
    for (std::uint32_t i = 0; i < program.states; ++i) RETRACE_CHECK(bring(i, state.tensors[i]));
    for (std::uint32_t i = 0; i < program.datasets; ++i) {
        RETRACE_CHECK(bring(program.states + program.constants + i, *inputs.datasets[i]));
    }
    RETRACE_CHECK(impl_->queue.copy_in(reinterpret_cast<std::uint8_t*>(impl_->clock()), &state.step, 8));
    impl_->step_number = state.step;
    impl_->committer->forget_unwritten();
    if (inputs.seed != impl_->seed) impl_->recording = Recording();
    impl_->seed = inputs.seed;
    impl_->loaded = true;
    return retrace::Unit{};
}

Status<> DeviceExecutor::queue_step() {
    RETRACE_CHECK(impl_->has_state());
    ++impl_->step_number;
    if (!impl_->warm) {
        impl_->queue_all();
        impl_->warm = true;
        return impl_->queue.finish();
    }
    if (impl_->recording.empty()) RETRACE_CHECK(impl_->record());
    return impl_->queue.play(impl_->recording);
}

Result<double> DeviceExecutor::seconds_of_steps(int steps) {
    Status<> queued = retrace::Unit{};
    const auto seconds = impl_->queue.seconds([&] {
        for (int i = 0; i < steps && queued; ++i) queued = queue_step();
    });
    RETRACE_CHECK(queued);
    return seconds;
}

Result<std::vector<Metric>> DeviceExecutor::step() {
    RETRACE_CHECK(queue_step());
    return impl_->metrics();
}

Status<> DeviceExecutor::store(State& state) {
    ensure(state.tensors.size() == impl_->program.states, "tensors for the state");
    state.step = kTornStep;
    RETRACE_CHECK(impl_->has_state());
    for (std::uint32_t i = 0; i < impl_->program.states; ++i) {
        Bytes& data = state.tensors[i].data;
        ensure(data.size() == tensor_bytes(impl_->program.tensors[i]), "tensors of the state's shapes");
        RETRACE_CHECK(impl_->queue.copy_out(data.data(), impl_->at[i], data.size()));
    }
    state.step = impl_->step_number;
    return retrace::Unit{};
}

Result<std::vector<Hash32>> DeviceExecutor::state_roots() {
    RETRACE_CHECK(impl_->has_state());
    return impl_->state_trees->roots(impl_->queue, impl_->memory.data() + impl_->layout.workspace);
}

Status<> DeviceExecutor::begin_commitment() {
    RETRACE_CHECK(impl_->has_state());
    impl_->committed_step = impl_->step_number;
    return impl_->committer->begin(impl_->queue, impl_->memory.data() + impl_->layout.workspace);
}

Result<std::vector<Hash32>> DeviceExecutor::finish_commitment() { return impl_->committer->finish(); }

Status<> DeviceExecutor::store_committed(State& state) {
    state.step = kTornStep;
    RETRACE_CHECK(impl_->committer->store(state.tensors));
    state.step = impl_->committed_step;
    return retrace::Unit{};
}

Result<std::vector<Hash32>> DeviceExecutor::trace() {
    RETRACE_CHECK(impl_->has_state());
    std::vector<Hash32> roots;
    RETRACE_CHECK(impl_->run_isolated(kNoWriter, [&](std::uint32_t op, const std::uint8_t* output) -> Status<> {
        const OpFacts::Operand& made = impl_->given_facts[op].output;
        const DeviceTrees trees({{output, made.dtype, made.dims}});
        RETRACE_TRY(root, trees.roots(impl_->queue, impl_->isolated.data() + impl_->isolated_space.workspace));
        roots.push_back(root.front());
        return retrace::Unit{};
    }));
    return roots;
}

Result<std::vector<Tensor>> DeviceExecutor::outputs(const std::vector<std::uint32_t>& ops) {
    RETRACE_CHECK(impl_->has_state());
    std::vector<Tensor> found;
    if (ops.empty()) return found;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        ensure(ops[i] < impl_->given.ops.size() && (i == 0 || ops[i - 1] < ops[i]), "ops of the program, ascending");
    }
    RETRACE_CHECK(impl_->run_isolated(ops.back(), [&](std::uint32_t op, const std::uint8_t* output) -> Status<> {
        if (op != ops[found.size()]) return retrace::Unit{};
        const OpFacts::Operand& made = impl_->given_facts[op].output;
        Tensor tensor = zeros(made.dtype, made.dims);
        RETRACE_CHECK(impl_->queue.copy_out(tensor.data.data(), output, tensor.data.size()));
        found.push_back(std::move(tensor));
        return retrace::Unit{};
    }));
    return found;
}

}  // namespace retrace::kernels::cuda
