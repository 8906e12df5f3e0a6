// SPDX-License-Identifier: MIT
#include "kernels/exec/plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "kernels/exec/arena.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/plan_check.hpp"
#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint32_t kUnitOpsMax = 64;            ///< Maximum ops of one unit.
constexpr std::uint64_t kFusedRunBytes = 192 << 10;  ///< Maximum bytes of a chunk's own memory, so that it stays in a
                                                     ///< second-level cache.
constexpr std::uint64_t kChunksMin = 32;             ///< Minimum number of chunks of a fused run, for threads to share.
constexpr std::uint64_t kChunkElements = 8192;    ///< Minimum elements of a chunk's largest tensor; smaller chunks cost
                                                  ///< more than they save.
constexpr std::uint64_t kGatheredColumns = 1024;  ///< Maximum columns of a gathered matrix; beyond, gathering a row for
                                                  ///< every block of K costs too much.

std::uint64_t bytes_of_elements(const TensorRecord& record) {
    return geometry(record.dims).elements() * size_of(record.dtype);
}

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::uint64_t bytes_of(const TensorRecord& record) {
    return aligned(std::max<std::uint64_t>(bytes_of_elements(record), 1));
}

class Planner {
public:
    Planner(const Program& program, const PlanOptions& options)
        : program_(program), isolated_(options.isolated), options_(options) {
        plan_.places.resize(program.ops.size());
        owner_.resize(program.tensors.size());
        last_use_.assign(program.tensors.size(), 0);
        for (std::uint32_t t = 0; t < owner_.size(); ++t) owner_[t] = t;
    }

    MemoryPlan run() {
        if (!isolated_) find_aliases();
        find_last_uses();
        if (!isolated_ && options_.gathers) find_gathered();
        find_units();
        if (!isolated_) {
            overwrite_states();
            for (const PlanUnit& unit : plan_.units)
                unit.fused_run == kNoFusedRun ? find_scratch(unit) : place_fused_run(unit);
        }
        allocate();
        return std::move(plan_);
    }

private:
    std::uint32_t ops() const { return static_cast<std::uint32_t>(program_.ops.size()); }
    std::uint32_t output(std::uint32_t op) const { return program_.output_of(op); }
    const TensorRecord& record(std::uint32_t op) const { return program_.tensors[output(op)]; }
    bool in_arena(std::uint32_t op) const { return plan_.places[op].where == BufferLocation::Where::arena; }

    void find_aliases() {
        std::set<std::uint32_t> writers;
        for (std::uint32_t s = 0; s < program_.states; ++s) writers.insert(program_.tensors[s].writer);
        for (std::uint32_t i = 0; i < ops(); ++i) {
            if (program_.ops[i].code != OpCode::reshape) continue;
            const std::uint32_t input = program_.ops[i].inputs[0];
            // The next value of one state tensor must not alias another state tensor, which may be overwritten first.
            if (writers.contains(i) && owner_[input] < program_.states) continue;
            owner_[output(i)] = owner_[input];
            plan_.places[i] = {BufferLocation::Where::alias, input};
        }
    }

    void find_last_uses() {
        for (std::uint32_t i = 0; i < ops(); ++i) {
            use(output(i), i);
            for (const std::uint32_t input : program_.ops[i].inputs) use(input, i);
            if (!record(i).name.empty()) use(output(i), ops());  // a metric is read after its unit
        }
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t writer = program_.tensors[s].writer;
            if (writer != kNoWriter) use(output(writer), ops());
        }
    }

    void use(std::uint32_t tensor, std::uint32_t op) {
        std::uint32_t& last = last_use_[owner_[tensor]];
        last = std::max(last, op);
    }

    /// Finds window matrices whose readers can all gather the windows themselves, a few rows at a time.
    void find_gathered() {
        std::vector<std::vector<std::uint32_t>> readers(program_.tensors.size());
        for (std::uint32_t i = 0; i < ops(); ++i) {
            for (const std::uint32_t input : program_.ops[i].inputs) readers[input].push_back(i);
        }
        for (std::uint32_t i = 0; i < ops(); ++i) {
            const std::uint32_t tensor = output(i);
            if (program_.ops[i].code != OpCode::window_gather || record(i).dtype != DType::f32) continue;
            if (record(i).dims[1] > kGatheredColumns || readers[tensor].empty() || last_use_[tensor] >= ops()) continue;
            if (!std::all_of(readers[tensor].begin(), readers[tensor].end(),
                             [&](std::uint32_t reader) { return can_gather(reader, tensor); }))
                continue;
            const std::uint32_t image = program_.ops[i].inputs[0];
            plan_.places[i] = {BufferLocation::Where::gathered, image};
            use(image, last_use_[tensor]);
        }
    }

    bool can_gather(std::uint32_t op, std::uint32_t tensor) const {
        const OpRecord& reader = program_.ops[op];
        if (reader.code == OpCode::row_max || reader.code == OpCode::row_argmax) return record(op).dims.back() == 1;
        if (reader.code != OpCode::matmul) return false;
        const bool first = reader.inputs[0] == tensor, second = reader.inputs[1] == tensor;
        return first != second && reader.attributes[first ? 1 : 2] == 0;
    }

    void find_units() {
        const bool fused_runs = !isolated_ && options_.fusion == Fusion::runs;
        FusionLimits limits;
        limits.rows = by_rows();
        for (std::uint32_t i = 0; i < ops();) {
            std::optional<FusableRun> run;
            if (fused_runs) run = find_fusable_run(program_, plan_.places, owner_, i, kUnitOpsMax, limits);
            if (run && by_rows() && own_bytes(i, *run) > options_.row_bytes) run.reset();
            PlanUnit unit = element_run(i, ops());
            if (run) {
                unit = {i, run->count, static_cast<std::uint32_t>(plan_.fused_runs.size())};
                FusedRun fused_run{run->parts, 1, std::move(run->whole), {}, 0};
                for (std::uint32_t at = i; at < unit.end(); at = fused_run.units.back().end())
                    fused_run.units.push_back(by_rows() ? PlanUnit{at, 1} : element_run(at, unit.end()));
                plan_.fused_runs.push_back(std::move(fused_run));
            }
            plan_.units.push_back(unit);
            i = unit.end();
        }
    }

    bool by_rows() const { return options_.row_bytes != 0; }

    /// Returns the bytes that a row of the run needs when allocate_chunk places it: all values that only the run reads.
    std::uint64_t own_bytes(std::uint32_t first, const FusableRun& run) const {
        const std::uint32_t end = first + run.count;
        Arena arena;
        std::map<std::uint32_t, std::uint64_t> at;  // by op: offset of a value that still has a reader
        const auto bytes = [&](std::uint32_t op) { return aligned(bytes_of_elements(record(op)) / run.parts); };
        for (std::uint32_t i = first; i < end; ++i) {
            if (in_arena(i) && last_use_[output(i)] < end) at[i] = arena.take(bytes(i));
            for (auto done = at.begin(); done != at.end();) {
                if (last_use_[output(done->first)] > i) {
                    ++done;
                    continue;
                }
                arena.give(done->second, bytes(done->first));
                done = at.erase(done);
            }
        }
        return arena.size();
    }

    /// Returns the elementwise run from op `first` on, or that op alone.
    PlanUnit element_run(std::uint32_t first, std::uint32_t end) const {
        PlanUnit unit{first, 1};
        if (isolated_ || options_.fusion == Fusion::none || !is_elementwise(program_.ops[first].code)) return unit;
        const Geometry shape = geometry(record(first).dims);
        while (unit.end() < end && unit.count < kUnitOpsMax && joins(unit, shape)) ++unit.count;
        return unit;
    }

    bool joins(const PlanUnit& unit, const Geometry& shape) const {
        const std::uint32_t op = unit.end();
        if (plan_.places[op].where == BufferLocation::Where::alias) return owner_[output(op)] < output(unit.first);
        const Geometry own = geometry(record(op).dims);
        return is_elementwise(program_.ops[op].code) && own.rows == shape.rows && own.cols == shape.cols;
    }

    /// Returns the tensor whose memory an op reads for `input`; for windows that it gathers itself, the image.
    std::uint32_t read_for(std::uint32_t input) const {
        if (!program_.is_op_output(input)) return input;
        const BufferLocation& place = plan_.places[input - program_.tensors_static()];
        return owner_[place.where == BufferLocation::Where::gathered ? static_cast<std::uint32_t>(place.at) : input];
    }

    /// Whether the op reads only element n of `tensor` for its element n.
    bool reads_in_place(std::uint32_t op, std::uint32_t tensor) const {
        if (updates_first_operand(program_.ops[op].code)) {
            const auto& inputs = program_.ops[op].inputs;
            return std::none_of(inputs.begin() + 1, inputs.end(),
                                [&](std::uint32_t input) { return read_for(input) == tensor; });
        }
        if (!is_elementwise(program_.ops[op].code)) return false;
        const Geometry shape = geometry(record(op).dims);
        return std::all_of(program_.ops[op].inputs.begin(), program_.ops[op].inputs.end(), [&](std::uint32_t input) {
            return read_for(input) != tensor ||
                   spread_of(shape, geometry(program_.tensors[input].dims)) == Spread::full;
        });
    }

    bool reads(std::uint32_t op, std::uint32_t tensor) const {
        const auto& inputs = program_.ops[op].inputs;
        return std::any_of(inputs.begin(), inputs.end(),
                           [&](std::uint32_t input) { return read_for(input) == tensor; });
    }

    /// Whether the writer reads its state tensor element by element or not at all, and no later op reads it.
    bool may_overwrite(std::uint32_t state, std::uint32_t writer) const {
        if (owner_[output(writer)] != output(writer) || last_use_[state] > writer) return false;
        const PlanUnit& unit = unit_of(writer);
        // A fused run writes a chunk before an earlier op of the fused run has read the next chunk.
        for (std::uint32_t i = unit.fused_run == kNoFusedRun ? writer : unit.first; i <= writer; ++i) {
            if (reads(i, state) && !reads_in_place(i, state)) return false;
        }
        return true;
    }

    const PlanUnit& unit_of(std::uint32_t op) const {
        return *std::prev(std::upper_bound(plan_.units.begin(), plan_.units.end(), op,
                                           [](std::uint32_t o, const PlanUnit& unit) { return o < unit.first; }));
    }

    void overwrite_states() {
        std::set<std::uint32_t> taken;
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t writer = program_.tensors[s].writer;
            if (writer == kNoWriter || !may_overwrite(s, writer) || !taken.insert(writer).second) continue;
            plan_.places[writer] = {BufferLocation::Where::state, s};
        }
    }

    /// Assigns scratch slots to values that only their own unit reads.
    void find_scratch(const PlanUnit& unit) {
        std::vector<std::uint32_t> free;
        for (std::uint32_t slot = kScratchSlots; slot-- > 0;) free.push_back(slot);
        for (std::uint32_t i = unit.first; i < unit.end(); ++i) {
            if (in_arena(i) && last_use_[output(i)] < unit.end() && last_use_[output(i)] > i && !free.empty()) {
                plan_.places[i] = {BufferLocation::Where::scratch, free.back()};
                free.pop_back();
            }
            for (std::uint32_t done = unit.first; done < i; ++done) {
                if (plan_.places[done].where == BufferLocation::Where::scratch && last_use_[output(done)] == i) {
                    free.push_back(static_cast<std::uint32_t>(plan_.places[done].at));
                }
            }
        }
    }

    /// Places values that only the fused run reads: in scratch slots of an elementwise run, or chunk by chunk in a
    /// thread's own memory.
    void place_fused_run(const PlanUnit& unit) {
        FusedRun& fused_run = plan_.fused_runs[unit.fused_run];
        for (const PlanUnit& part : fused_run.units) {
            if (!by_rows() && is_elementwise(program_.ops[part.first].code)) find_scratch(part);
        }
        for (std::uint32_t i = unit.first; i < unit.end(); ++i) {
            if (in_arena(i) && last_use_[output(i)] < unit.end()) plan_.places[i] = {BufferLocation::Where::chunk, 0};
        }
        allocate_chunk(unit, fused_run);
        if (by_rows()) {
            plan_.chunk_bytes = std::max(plan_.chunk_bytes, fused_run.bytes);
            return;
        }
        const std::uint64_t fitting = kFusedRunBytes / std::max<std::uint64_t>(fused_run.bytes, 1);
        std::uint64_t elements = 1;
        for (std::uint32_t i = unit.first; i < unit.end(); ++i)
            elements = std::max(elements, geometry(record(i).dims).elements() / fused_run.parts);
        const std::uint64_t worthwhile = std::min(fused_run.parts, 1 + kChunkElements / elements);
        fused_run.chunk = std::max({std::uint64_t{1}, worthwhile, std::min(fitting, fused_run.parts / kChunksMin)});
        allocate_chunk(unit, fused_run);
        plan_.chunk_bytes = std::max(plan_.chunk_bytes, fused_run.bytes);
    }

    void allocate_chunk(const PlanUnit& unit, FusedRun& fused_run) {
        Arena arena;
        const auto chunk_bytes = [&](std::uint32_t op) {
            return aligned(bytes_of_elements(record(op)) / fused_run.parts * fused_run.chunk);
        };
        for (const PlanUnit& part : fused_run.units) {
            for (std::uint32_t i = part.first; i < part.end(); ++i) {
                BufferLocation& place = plan_.places[i];
                if (place.where == BufferLocation::Where::chunk) place.at = arena.take(chunk_bytes(i));
            }
            for (std::uint32_t i = unit.first; i < part.end(); ++i) {
                const std::uint32_t last = last_use_[output(i)];
                if (plan_.places[i].where == BufferLocation::Where::chunk && last >= part.first && last < part.end())
                    arena.give(plan_.places[i].at, chunk_bytes(i));
            }
        }
        fused_run.bytes = std::max(arena.size(), kAlignment);
    }

    /// Whether the output of `op` may take over the memory of `tensor`, which was computed before this unit: its last
    /// reader is `op` or an earlier op of the unit, all of them read it element by element, and it has the same size.
    bool may_inherit(std::uint32_t op, std::uint32_t tensor, const PlanUnit& unit) const {
        if (!program_.is_op_output(tensor) || owner_[tensor] != tensor || last_use_[tensor] > op) return false;
        const std::uint32_t writer = tensor - program_.tensors_static();
        if (writer >= unit.first || !in_arena(writer) || given_.contains(writer)) return false;
        if (program_.tensors[tensor].dtype != record(op).dtype) return false;
        if (bytes_of_elements(program_.tensors[tensor]) != bytes_of_elements(record(op))) return false;
        for (std::uint32_t i = unit.first; i <= op; ++i) {
            if (reads(i, tensor) && !reads_in_place(i, tensor)) return false;
        }
        return true;
    }

    /// Returns the op whose output's memory `op` takes over.
    std::optional<std::uint32_t> inherited(std::uint32_t op, const PlanUnit& unit) const {
        if (isolated_) return std::nullopt;
        for (std::uint32_t i = unit.first; i <= op; ++i) {
            for (const std::uint32_t input : program_.ops[i].inputs) {
                if (may_inherit(op, input, unit)) return input - program_.tensors_static();
            }
        }
        return std::nullopt;
    }

    void allocate() {
        Arena arena;
        std::vector<std::vector<std::uint32_t>> ends(ops() + 1);
        for (std::uint32_t i = 0; i < ops(); ++i) {
            if (in_arena(i)) ends[last_use_[output(i)]].push_back(i);
        }
        for (const PlanUnit& unit : plan_.units) {
            for (std::uint32_t i = unit.first; i < unit.end(); ++i) {
                if (!in_arena(i)) continue;
                if (const auto giver = inherited(i, unit)) {
                    plan_.places[i].at = plan_.places[*giver].at;
                    given_.insert(*giver);
                } else {
                    plan_.places[i].at = arena.take(bytes_of(record(i)));
                }
            }
            for (std::uint32_t i = unit.first; i < unit.end(); ++i) {
                for (const std::uint32_t done : ends[i]) {
                    if (!given_.contains(done)) arena.give(plan_.places[done].at, bytes_of(record(done)));
                }
            }
        }
        plan_.bytes = arena.size();
    }

    const Program& program_;
    const bool isolated_;
    const PlanOptions options_;
    MemoryPlan plan_;
    std::vector<std::uint32_t> owner_;     ///< The tensor whose memory a tensor shares; itself where it has its own.
    std::vector<std::uint32_t> last_use_;  ///< The op that reads an owner's memory last; the number of ops if it is
                                           ///< read after the step.
    std::set<std::uint32_t> given_;        ///< Ops whose memory another output has taken over.
};

}  // namespace

MemoryPlan propose_plan(const Program& program, const PlanOptions& options) { return Planner(program, options).run(); }

MemoryPlan plan_memory(const Program& program, const PlanOptions& options) {
    MemoryPlan plan = propose_plan(program, options);
    const bool by_rows = options.row_bytes != 0;
    if (by_rows ? check_row_runs(program, plan, options.row_bytes) : check_plan(program, plan)) return plan;
    PlanOptions apart = options;  // A planner bug costs speed but does not change a bit.
    apart.isolated = true;
    return propose_plan(program, apart);
}

}  // namespace retrace::kernels
