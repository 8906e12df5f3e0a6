// SPDX-License-Identifier: MIT
#include "kernels/exec/fused_run_executor.hpp"

#include <set>

#include "kernels/exec/fused_runs.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {

void ChunkMemory::begin(const Addresses& at) {
    for (Piece& piece : pieces_) piece.at = at;
}

ChunkMemory::Piece& ChunkMemory::take() {
    const std::lock_guard lock(mutex_);
    ensure(!free_.empty(), "a piece of memory for every thread");
    Piece* const piece = free_.back();
    free_.pop_back();
    return *piece;
}

void ChunkMemory::give(Piece& piece) {
    const std::lock_guard lock(mutex_);
    free_.push_back(&piece);
}

FusedRunExecutor::FusedRunExecutor(const Program& program, const std::vector<OpFacts>& facts,
                                   const std::vector<CpuKernel>& kernels, const MemoryPlan& plan, const PlanUnit& unit)
    : parts_(plan.fused_runs[unit.fused_run].parts), chunk_(plan.fused_runs[unit.fused_run].chunk) {
    find_locals(program, plan, unit);
    full_ = steps_of(program, facts, kernels, plan, unit, chunk_);
    if (parts_ % chunk_ != 0) last_ = steps_of(program, facts, kernels, plan, unit, parts_ % chunk_);
}

void FusedRunExecutor::find_locals(const Program& program, const MemoryPlan& plan, const PlanUnit& unit) {
    std::set<std::uint32_t> known, made;
    const auto part_bytes = [&](std::uint32_t tensor) {
        const TensorRecord& record = program.tensors[tensor];
        return geometry(record.dims).elements() / parts_ * size_of(record.dtype);
    };
    auto whole = plan.fused_runs[unit.fused_run].whole.begin();
    for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
        const BufferLocation& place = plan.places[op];
        const bool alias = place.where == BufferLocation::Where::alias;
        const std::uint32_t output = program.output_of(op);
        for (const std::uint32_t input : program.ops[op].inputs) {
            const bool apart = !*whole++ && !alias;
            if (apart && known.insert(input).second)
                locals_.push_back({input, BufferLocation::Where::arena, part_bytes(input)});
        }
        if (place.where == BufferLocation::Where::scratch) continue;
        // The alias of a tensor outside the fused run is an address like any other; it is cut where it is read.
        if (alias && !made.contains(static_cast<std::uint32_t>(place.at))) continue;
        known.insert(output);
        made.insert(output);
        if (place.where == BufferLocation::Where::chunk || alias)
            locals_.push_back({output, place.where, place.at});
        else
            locals_.push_back({output, BufferLocation::Where::arena, part_bytes(output)});
    }
}

std::vector<FusedRunExecutor::Step> FusedRunExecutor::steps_of(const Program& program,
                                                               const std::vector<OpFacts>& facts,
                                                               const std::vector<CpuKernel>& kernels,
                                                               const MemoryPlan& plan, const PlanUnit& unit,
                                                               std::uint64_t parts) const {
    std::vector<Step> steps;
    for (const PlanUnit& part : plan.fused_runs[unit.fused_run].units) {
        if (plan.places[part.first].where == BufferLocation::Where::alias) continue;
        std::vector<OpFacts> own;
        for (std::uint32_t op = part.first; op < part.end(); ++op) {
            // A reshape inside an elementwise run computes nothing, so its facts need no cutting.
            const bool alias = plan.places[op].where == BufferLocation::Where::alias;
            own.push_back(alias ? facts[op] : facts_of_part(facts[op], parts, parts_));
        }
        Step step;
        if (is_elementwise(program.ops[part.first].code)) {
            step.elements.emplace(program, own, plan, part);
        } else {
            step.kernel = kernels[part.first];
            step.facts = std::move(own.front());
            step.output = program.output_of(part.first);
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

void FusedRunExecutor::run_chunk(std::uint64_t chunk, Addresses& at, const Addresses& memory, std::uint8_t* own,
                                 ThreadPool& pool) const {
    const std::uint64_t first = chunk * chunk_;
    for (const Local& local : locals_) {
        at[local.tensor] = local.where == BufferLocation::Where::chunk   ? own + local.at
                           : local.where == BufferLocation::Where::alias ? at[local.at]
                                                                         : memory[local.tensor] + first * local.at;
    }
    for (const Step& step : first + chunk_ <= parts_ ? full_ : last_) {
        if (step.elements) {
            step.elements->run(at, pool);
            continue;
        }
        std::array<const std::uint8_t*, 2> operands{};
        const std::size_t count = step.facts.op.inputs.size();
        for (std::size_t i = 0; i < count; ++i) operands[i] = at[step.facts.op.inputs[i]];
        step.kernel(
            {step.facts, std::span(operands).first(count), const_cast<std::uint8_t*>(at[step.output]), 0, 0, pool});
    }
}

namespace {

/// Returns the piece also when an exception is thrown.
struct Lent {
    explicit Lent(ChunkMemory& from) : memory(from), piece(from.take()) {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() { memory.give(piece); }
    ChunkMemory& memory;
    ChunkMemory::Piece& piece;
};

}  // namespace

void FusedRunExecutor::run(const Addresses& memory, ChunkMemory& own, ThreadPool& pool) const {
    const std::uint64_t chunks = (parts_ + chunk_ - 1) / chunk_;
    const auto some = [&](std::uint64_t begin, std::uint64_t end, ThreadPool& helpers) {
        const Lent mine(own);
        Addresses& at = mine.piece.at;
        for (std::uint64_t chunk = begin; chunk < end; ++chunk)
            run_chunk(chunk, at, memory, mine.piece.memory, helpers);
        for (const Local& local : locals_) at[local.tensor] = memory[local.tensor];
    };
    // With few chunks the threads share the work of each instead.
    if (chunks < 2 * std::uint64_t{pool.threads()}) return some(0, chunks, pool);
    pool.parallel_for(chunks, 1, [&](std::uint64_t begin, std::uint64_t end) {
        ThreadPool alone(1);
        some(begin, end, alone);
    });
}

}  // namespace retrace::kernels
