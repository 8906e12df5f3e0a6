// SPDX-License-Identifier: MIT
#include "kernels/offload/offloaded_executor.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "kernels/commit/commitment.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/metric.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "kernels/program/initialiser.hpp"
#include "kernels/runtime/dispatch.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {
namespace {

using Version = StateStore::Version;

PlanOptions fast_plan(Fusion fusion) { return {false, cpu_level() != CpuLevel::scalar, fusion}; }

/// Of traces and outputs: each output is in a place of its own.
PlanOptions isolated_plan() { return {true, true, Fusion::none}; }

std::uint64_t bytes_of(const TensorRecord& record) { return geometry(record.dims).elements() * size_of(record.dtype); }

/// Memory besides the room: every thread's own for fused runs, and a kernel's scratch.
std::uint64_t fixed_bytes(const UnitRunner& runner, const ThreadPool& pool) {
    return pool.threads() * runner.plan().chunk_bytes + runner.scratch_bytes();
}

std::uint64_t least_bytes(const Program& program, const PlanOptions& options, const ThreadPool& pool) {
    const UnitRunner runner(program, false, options);
    return fixed_bytes(runner, pool) + least_room(program, runner.plan(), kDiskBlock);
}

/// The plan of the longest runs that fits `memory`, or else that which needs least: a run may join what an initialiser
/// writes of many layers.
PlanOptions plan_for(const Program& program, const ThreadPool& pool, std::uint64_t memory) {
    std::pair<std::uint64_t, Fusion> best{UINT64_MAX, Fusion::none};
    for (const Fusion fusion : {Fusion::runs, Fusion::elements, Fusion::none}) {
        const std::uint64_t least = least_bytes(program, fast_plan(fusion), pool);
        if (least <= memory) return fast_plan(fusion);
        if (least < best.first) best = {least, fusion};
    }
    return fast_plan(best.second);
}

std::uint64_t sum_of_blocks(const OffloadPlan& plan) {
    std::uint64_t sum = 0;
    for (const OffloadBlock& block : plan.blocks) sum += block.bytes;
    return sum;
}

std::string megabytes(double bytes) { return std::to_string(static_cast<std::uint64_t>(bytes / 1e6)) + " MB"; }

void check(const Status<>& status) {
    if (!status) throw std::runtime_error(status.error().message);
}

Result<OffloadPlan> plan_within(const UnitRunner& runner, std::uint64_t room) {
    RETRACE_TRY(plan, plan_offload(runner.program(), runner.plan(), {room, kDiskBlock}));
    // A room that is larger than everything would be empty in part.
    const std::uint64_t all = std::max(sum_of_blocks(plan), least_room(runner.program(), runner.plan(), kDiskBlock));
    if (all < room) return plan_offload(runner.program(), runner.plan(), {all, kDiskBlock});
    return plan;
}

}  // namespace

struct OffloadedExecutor::Impl {
    const Program& given;
    const Program rewritten;
    const UnitRunner runner;
    ThreadPool& pool;
    ScratchFolder folder;
    const std::uint64_t memory;
    const double slowest;

    std::optional<OffloadedStep> fast;
    std::optional<StateStore> disk;
    Pages room;
    std::vector<std::uint8_t> own_memory;
    ChunkMemory own;
    Inputs inputs;
    std::uint64_t step = 0, committed_step = 0;
    std::vector<bool> is_kept;  ///< Of tensors that no op writes: the current value is the kept one.
    /// Of tensors that no op writes, once they are hashed: of the current state, and of the one that is kept.
    std::vector<std::optional<Hash32>> fixed_roots, kept_roots;

    Impl(const Program& program, ThreadPool& threads, const OffloadOptions& options)
        : given(program),
          rewritten(with_constants_first(rematerialise(program))),
          runner(rewritten, false, plan_for(rewritten, threads, options.memory)),
          pool(threads),
          folder(options.folder),
          memory(options.memory),
          slowest(options.slowest_disk),
          is_kept(program.states),
          fixed_roots(program.states),
          kept_roots(program.states) {}

    Status<> prepare() {
        const std::uint64_t fixed = fixed_bytes(runner, pool);
        const std::uint64_t least = fixed + least_room(rewritten, runner.plan(), kDiskBlock);
        if (memory < least)
            return error("offloading within " + std::to_string(memory) + " bytes of memory: this program needs " +
                         std::to_string(least) + " at least (memory)");
        RETRACE_TRY(plan, plan_within(runner, memory - fixed));
        fast.emplace(runner, std::move(plan));
        RETRACE_CHECK(check_disk());
        RETRACE_TRY(store, StateStore::open(given, folder));
        disk.emplace(std::move(store));
        RETRACE_CHECK(disk->make_spill(folder, fast->plan().spill));
        (void)here();  // A machine without the memory says so now.
        give_chunks(runner, own_memory, own);
        return retrace::Unit{};
    }

    Status<> check_disk() const {
        if (slowest <= 0) return retrace::Unit{};
        RETRACE_TRY(speed, measure_disk(folder.path()));
        if (const double slower = std::min(speed.read, speed.written); slower < slowest)
            return error("the disk in " + folder.path().string() + " moves " + megabytes(slower) +
                         " a second; at least " + megabytes(slowest) + " are asked for (disk_slow)");
        return retrace::Unit{};
    }

    static constexpr std::uint64_t kOwnAlignment = 64;
    /// take_pages aligns large memory to pages, as transfers that bypass the page cache must be.
    static Pages aligned_room(std::uint64_t bytes) { return take_pages(std::max<std::uint64_t>(bytes, 4 << 20)); }

    void put(std::uint32_t state, const Tensor& tensor) {
        const TensorRecord& record = given.tensors[state];
        ensure(tensor.dtype == record.dtype && tensor.dims == record.dims && tensor.data.size() == bytes_of(record),
               "a tensor of the state as the program records it");
        fixed_roots[state].reset();
        is_kept[state] = false;
        if (tensor.data.empty()) return;
        std::memcpy(here(), tensor.data.data(), tensor.data.size());
        disk->discard();
        check(disk->write(state, Version::next, here()));  // the kept value stays
        disk->advance();
    }

    /// An initialiser reads no state, but its transfers may.
    void put_zeros(std::uint32_t state) {
        const std::uint64_t bytes = bytes_of(given.tensors[state]);
        if (bytes == 0) return;
        std::memset(here(), 0, bytes);
        check(disk->write(state, Version::next, here()));
        disk->advance();
    }

    /// Reads a tensor of the state to the beginning of the room.
    const std::uint8_t* fetch(std::uint32_t state, Version version) {
        if (bytes_of(given.tensors[state]) != 0) check(disk->read(state, version, here()));
        return here();
    }

    /// The room: that of a LentRoom while there is one, else this executor's own.
    std::uint8_t* here() {
        if (!room) room = aligned_room(fast->plan().room);
        return room.get();
    }

    /// A room for another program in the same memory: only one of the two has it at a time.
    class LentRoom {
    public:
        LentRoom(Impl& impl, std::uint64_t bytes) : impl_(impl) {
            impl_.room.reset();
            impl_.room = aligned_room(bytes);
        }
        ~LentRoom() { impl_.room.reset(); }
        LentRoom(const LentRoom&) = delete;
        LentRoom& operator=(const LentRoom&) = delete;

    private:
        Impl& impl_;
    };

    Tensor tensor(std::uint32_t state, Version version) {
        const TensorRecord& record = given.tensors[state];
        const std::uint8_t* data = fetch(state, version);
        return {record.dtype, record.dims, Bytes(data, data + bytes_of(record))};
    }

    std::vector<Hash32> roots(Version version) {
        std::vector<std::optional<Hash32>>& known = version == Version::kept ? kept_roots : fixed_roots;
        std::vector<Hash32> out;
        for (std::uint32_t s = 0; s < given.states; ++s) {
            const TensorRecord& record = given.tensors[s];
            if (known[s]) {
                out.push_back(*known[s]);
                continue;
            }
            const Hash32 root = tensor_root(fetch(s, version), record.dtype, record.dims, pool);
            if (record.writer == kNoWriter) {
                known[s] = root;
                if (is_kept[s]) fixed_roots[s] = root;
            }
            out.push_back(root);
        }
        return out;
    }

    void keep() {
        disk->keep();
        committed_step = step;
        kept_roots = fixed_roots;
        is_kept.assign(given.states, true);
    }

    void store(State& state, Version version, std::uint64_t number) {
        state.step = kTornStep;
        state.tensors.resize(given.states);
        for (std::uint32_t s = 0; s < given.states; ++s) state.tensors[s] = tensor(s, version);
        state.step = number;
    }
    static constexpr std::uint64_t kTornStep = ~std::uint64_t{0};

    /// Runs the given program op by op, each output in a place of its own, and leaves the state as it is.
    void run_isolated(const OffloadedStep::AfterOp& after) {
        const UnitRunner isolated(given, false, isolated_plan());
        const std::uint64_t fixed = fixed_bytes(isolated, pool);
        const std::uint64_t least = fixed + least_room(given, isolated.plan(), kDiskBlock);
        if (memory < least)
            throw std::runtime_error("a trace within " + std::to_string(memory) + " bytes of memory: it needs " +
                                     std::to_string(least) + " at least (memory)");
        auto plan = plan_within(isolated, memory - fixed);
        if (!plan) throw std::runtime_error(plan.error().message);
        const OffloadedStep steps(isolated, std::move(*plan));
        check(disk->make_spill(folder, steps.plan().spill));
        disk->discard();
        const LentRoom lent(*this, steps.plan().room);
        check(steps.run(*disk, here(), inputs, {inputs.seed, step, own, pool}, after));
        disk->discard();
    }

    /// Makes the state by the initialiser, whose states are those of the given program.
    Status<> initialise(const Program& initialiser, std::uint64_t seed) {
        const Program init = with_constants_first(rematerialise(initialiser));
        const UnitRunner making(init, false, plan_for(init, pool, memory));
        const std::uint64_t fixed = fixed_bytes(making, pool);
        const std::uint64_t least = fixed + least_room(init, making.plan(), kDiskBlock);
        if (memory < least)
            return error("offloading within " + std::to_string(memory) + " bytes of memory: the initialiser needs " +
                         std::to_string(least) + " at least (memory)");
        RETRACE_TRY(plan, plan_within(making, memory - fixed));
        const OffloadedStep steps(making, std::move(plan));
        RETRACE_CHECK(disk->make_spill(folder, steps.plan().spill));
        std::vector<std::uint8_t> memory_of_threads;
        ChunkMemory chunks;
        give_chunks(making, memory_of_threads, chunks);
        const LentRoom lent(*this, steps.plan().room);
        disk->discard();
        fixed_roots.assign(given.states, std::nullopt);
        is_kept.assign(given.states, false);
        for (std::uint32_t s = 0; s < given.states; ++s) put_zeros(s);
        RETRACE_CHECK(steps.run(*disk, here(), {seed, {}}, {seed, 0, chunks, pool},
                                [](std::uint32_t, const std::uint8_t*) { return true; }));
        disk->advance();
        return retrace::Unit{};
    }

    /// Memory of each thread for the fused runs of a program.
    void give_chunks(const UnitRunner& of, std::vector<std::uint8_t>& bytes, ChunkMemory& chunks) const {
        bytes.resize(pool.threads() * of.plan().chunk_bytes + kOwnAlignment);
        std::uint8_t* begin = bytes.data();
        begin += (kOwnAlignment - reinterpret_cast<std::uintptr_t>(begin) % kOwnAlignment) % kOwnAlignment;
        for (unsigned i = 0; i < pool.threads(); ++i) chunks.add(begin + i * of.plan().chunk_bytes);
    }
};

OffloadedExecutor::OffloadedExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OffloadedExecutor::~OffloadedExecutor() = default;

Result<std::unique_ptr<OffloadedExecutor>> OffloadedExecutor::create(const Program& program, ThreadPool& pool,
                                                                     const OffloadOptions& options) {
    auto impl = std::make_unique<Impl>(program, pool, options);
    RETRACE_CHECK(impl->prepare());
    return std::unique_ptr<OffloadedExecutor>(new OffloadedExecutor(std::move(impl)));
}

OffloadMemory OffloadedExecutor::memory_of(const Program& program, const ThreadPool& pool) {
    const Program rewritten = with_constants_first(rematerialise(program));
    const UnitRunner runner(rewritten, false, fast_plan(Fusion::runs));
    OffloadMemory out;
    out.least = least_bytes(rewritten, plan_for(rewritten, pool, 0), pool);
    out.whole = fixed_bytes(runner, pool) + runner.plan().bytes;
    for (std::uint32_t s = 0; s < program.states; ++s) out.whole += bytes_of(program.tensors[s]);
    out.traces = least_bytes(program, isolated_plan(), pool);
    return out;
}

std::uint64_t OffloadedExecutor::planned_bytes() const noexcept {
    return fixed_bytes(impl_->runner, impl_->pool) + impl_->fast->plan().room;
}
std::uint64_t OffloadedExecutor::bytes_read() const noexcept { return impl_->fast->plan().bytes(false); }
std::uint64_t OffloadedExecutor::bytes_written() const noexcept { return impl_->fast->plan().bytes(true); }
double OffloadedExecutor::seconds_waited() const noexcept { return impl_->fast->seconds_waited(); }
bool OffloadedExecutor::direct() const noexcept { return impl_->disk->file().direct(); }

void OffloadedExecutor::begin(std::uint64_t step, const Inputs& inputs) {
    ensure(inputs.datasets.size() == impl_->given.datasets, "as many data sets as the program has");
    for (std::uint32_t i = 0; i < impl_->given.datasets; ++i) {
        const TensorRecord& record = impl_->given.tensors[impl_->given.states + impl_->given.constants + i];
        ensure(inputs.datasets[i]->dtype == record.dtype && inputs.datasets[i]->dims == record.dims,
               "data sets as the program records them");
    }
    impl_->inputs = inputs;
    impl_->step = step;
}

void OffloadedExecutor::put(std::uint32_t state, const Tensor& tensor) { impl_->put(state, tensor); }
Status<> OffloadedExecutor::put_initialised(const Program& init, std::uint64_t seed) {
    RETRACE_CHECK(check_initialiser(init, impl_->given));
    return impl_->initialise(init, seed);
}

View OffloadedExecutor::bytes(std::uint32_t state) {
    const std::uint64_t size = bytes_of(impl_->given.tensors[state]);
    return {impl_->fetch(state, Version::current), static_cast<std::size_t>(size)};
}
Tensor OffloadedExecutor::tensor(std::uint32_t state) { return impl_->tensor(state, Version::current); }
Tensor OffloadedExecutor::committed_tensor(std::uint32_t state) { return impl_->tensor(state, Version::kept); }

void OffloadedExecutor::load(const State& state, const Inputs& inputs) {
    ensure(state.tensors.size() == impl_->given.states, "as many state tensors as the program has");
    begin(state.step, inputs);
    for (std::uint32_t s = 0; s < impl_->given.states; ++s) put(s, state.tensors[s]);
}

std::vector<Metric> OffloadedExecutor::advance() { return *attempt({}); }

std::optional<std::vector<Metric>> OffloadedExecutor::attempt(const StopToken& stop) {
    const Program& program = impl_->runner.program();
    std::vector<Metric> metrics;
    bool stopped = false;
    check(impl_->disk->make_spill(impl_->folder, impl_->fast->plan().spill));
    impl_->disk->discard();
    check(impl_->fast->run(*impl_->disk, impl_->here(), impl_->inputs,
                           {impl_->inputs.seed, impl_->step, impl_->own, impl_->pool},
                           [&](std::uint32_t op, const std::uint8_t* output) {
                               const TensorRecord& record = program.tensors[program.output_of(op)];
                               if (is_metric(record)) metrics.push_back({record.name, from_bits(load_u32(output))});
                               stopped = stop.stop_requested() || stop.deadline_passed();
                               return !stopped;
                           }));
    if (stopped) {
        impl_->disk->discard();
        return std::nullopt;
    }
    impl_->disk->advance();
    ++impl_->step;
    return metrics;
}

void OffloadedExecutor::store(State& state) { impl_->store(state, Version::current, impl_->step); }
std::vector<Hash32> OffloadedExecutor::roots() { return impl_->roots(Version::current); }

void OffloadedExecutor::begin_roots() { impl_->keep(); }
std::vector<Hash32> OffloadedExecutor::finish_roots() { return impl_->roots(Version::kept); }
void OffloadedExecutor::store_committed(State& state) { impl_->store(state, Version::kept, impl_->committed_step); }

std::vector<Hash32> OffloadedExecutor::trace(const State& state, const Inputs& inputs) {
    load(state, inputs);
    return trace();
}

std::vector<Hash32> OffloadedExecutor::trace() {
    std::vector<Hash32> roots;
    impl_->run_isolated([&](std::uint32_t op, const std::uint8_t* output) {
        const TensorRecord& record = impl_->given.tensors[impl_->given.output_of(op)];
        roots.push_back(tensor_root(output, record.dtype, record.dims, impl_->pool));
        return true;
    });
    return roots;
}

std::vector<Tensor> OffloadedExecutor::outputs(const State& state, const Inputs& inputs,
                                               const std::vector<std::uint32_t>& ops) {
    load(state, inputs);
    return outputs(ops);
}

std::vector<Tensor> OffloadedExecutor::outputs(const std::vector<std::uint32_t>& ops) {
    std::vector<Tensor> found;
    if (ops.empty()) return found;
    for (std::size_t i = 0; i < ops.size(); ++i)
        ensure(ops[i] < impl_->given.ops.size() && (i == 0 || ops[i - 1] < ops[i]), "ops of the program, ascending");
    impl_->run_isolated([&](std::uint32_t op, const std::uint8_t* output) {
        if (op != ops[found.size()]) return true;
        const TensorRecord& record = impl_->given.tensors[impl_->given.output_of(op)];
        found.push_back({record.dtype, record.dims, Bytes(output, output + bytes_of(record))});
        return found.size() < ops.size();
    });
    return found;
}

}  // namespace retrace::kernels
