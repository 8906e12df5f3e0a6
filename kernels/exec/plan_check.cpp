// SPDX-License-Identifier: MIT
#include "kernels/exec/plan_check.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/memory_contents.hpp"
#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

using Where = BufferLocation::Where;

/// How a run reads or writes memory.
enum class Reach : std::uint8_t {
    element,  ///< Accesses only element n for its element n.
    part,     ///< In a fused run: accesses only the chunk's parts.
    whole,    ///< May access any element at any time.
};

struct Access {
    std::uint32_t op = 0, part = 0;
    std::uint32_t value = 0;  ///< The tensor accessed, with all aliases resolved.
    Region region;
    Reach reach = Reach::whole;
};

class Checker {
public:
    Checker(const Program& program, const MemoryPlan& plan, bool rows)
        : program_(program), plan_(plan), rows_(rows), values_(program.tensors.size()) {}

    Status<> run() {
        if (plan_.places.size() != program_.ops.size())
            return error("plan: the number of places is not the number of ops");
        find_values();
        for (std::uint32_t t = 0; t < program_.tensors_static(); ++t)
            if (bytes(t) != 0) contents_.write({t, 0, bytes(t)}, t);
        std::uint32_t next = 0;
        for (const PlanUnit& unit : plan_.units) {
            if (unit.first != next || unit.count == 0 || unit.count > program_.ops.size() - next)
                return error("plan: the units are not all ops in order");
            RETRACE_CHECK(check_unit(unit));
            next = unit.end();
        }
        if (next != program_.ops.size()) return error("plan: the units are not all ops in order");
        RETRACE_CHECK(check_metrics({0, next}));  // Some executors read the metrics only at the end.
        return check_states();
    }

private:
    const BufferLocation& place(std::uint32_t op) const { return plan_.places[op]; }
    const OpRecord& record(std::uint32_t op) const { return program_.ops[op]; }
    std::uint32_t output(std::uint32_t op) const { return program_.output_of(op); }
    std::uint32_t writer(std::uint32_t tensor) const { return tensor - program_.tensors_static(); }
    Geometry shape(std::uint32_t tensor) const { return geometry(program_.tensors[tensor].dims); }
    std::uint64_t bytes(std::uint32_t tensor) const {
        return shape(tensor).elements() * size_of(program_.tensors[tensor].dtype);
    }
    bool is(std::uint32_t tensor, Where where) const {
        return program_.is_op_output(tensor) && place(writer(tensor)).where == where;
    }
    static Unexpected<Error> wrong(std::uint32_t op, std::string_view what) {
        return error("plan of op " + std::to_string(op) + ": " + std::string(what));
    }

    bool in_memory(std::uint32_t value) const {
        return !program_.is_op_output(value) || is(value, Where::arena) || is(value, Where::state);
    }

    void find_values() {
        for (std::uint32_t t = 0; t < values_.size(); ++t)
            values_[t] =
                is(t, Where::alias) && !record(writer(t)).inputs.empty() ? values_[record(writer(t)).inputs[0]] : t;
    }
    /// Resolves all aliases.
    std::uint32_t value_of(std::uint32_t tensor) const { return values_[tensor]; }

    /// Returns the region of a value that is in memory as a whole.
    Region region_of(std::uint32_t value) const {
        if (!program_.is_op_output(value)) return {value, 0, bytes(value)};
        const BufferLocation& at = place(writer(value));
        return at.where == Where::state ? Region{at.at, 0, bytes(value)} : Region{kArena, at.at, bytes(value)};
    }

    Status<> check_place(std::uint32_t op) const {
        const BufferLocation& at = place(op);
        const std::uint32_t out = output(op);
        const auto state = static_cast<std::uint32_t>(at.at);
        switch (at.where) {
            case Where::arena:
                if (at.at % 64 != 0 || at.at > plan_.bytes || bytes(out) > plan_.bytes - at.at)
                    return wrong(op, "its buffer is not aligned to 64 bytes or exceeds the arena");
                break;
            case Where::state:
                if (at.at >= program_.states || bytes(state) != bytes(out))
                    return wrong(op, "it overwrites a state tensor of another size");
                break;
            case Where::alias:
                if (record(op).code != OpCode::reshape || record(op).inputs[0] != at.at)
                    return wrong(op, "its alias is not the reshape's input");
                break;
            case Where::gathered:
                if (record(op).code != OpCode::window_gather || record(op).inputs[0] != at.at)
                    return wrong(op, "it does not gather from its own image");
                break;
            case Where::scratch:
                if (at.at >= kScratchSlots) return wrong(op, "its scratch slot does not exist");
                break;
            case Where::chunk: break;
        }
        return retrace::Unit{};
    }

    // ---- a unit
    // -------------------------------------------------------------------------------------------------

    Status<> check_unit(const PlanUnit& unit) {
        unit_ = unit;
        fused_run_ = nullptr;
        reads_.clear();
        writes_.clear();
        local_ = {};
        read_whole_.clear();
        local_reads_.clear();
        if (unit.fused_run == kNoFusedRun) {
            RETRACE_CHECK(check_part(unit, 0));
        } else {
            if (unit.fused_run >= plan_.fused_runs.size() || unit.fused_run != fused_runs_++)
                return wrong(unit.first, "its unit does not name the next fused run");
            RETRACE_CHECK(check_fused_run(unit, plan_.fused_runs[unit.fused_run]));
        }
        RETRACE_CHECK(check_conflicts());
        for (const Access& write : writes_) contents_.write(write.region, write.value);
        return check_metrics(unit);
    }

    /// Checks that the unit's metrics are still in memory after the unit, when they are read.
    Status<> check_metrics(const PlanUnit& unit) const {
        for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
            const std::uint32_t tensor = output(op), value = value_of(tensor);
            if (program_.tensors[tensor].name.empty() || bytes(tensor) == 0) continue;
            if (!in_memory(value) || !contents_.holds(region_of(value), value)) return wrong(op, "a metric is gone");
        }
        return retrace::Unit{};
    }

    Status<> check_fused_run(const PlanUnit& unit, const FusedRun& fused_run) {
        fused_run_ = &fused_run;
        if (fused_run.parts == 0 || fused_run.chunk == 0 || fused_run.chunk > fused_run.parts ||
            fused_run.bytes > plan_.chunk_bytes)
            return wrong(unit.first, "the fused run has impossible extents");
        std::size_t inputs = 0;
        for (std::uint32_t op = unit.first; op < unit.end(); ++op) inputs += record(op).inputs.size();
        if (fused_run.whole.size() != inputs)
            return wrong(unit.first, "the fused run does not say for each input how it is read");
        whole_ = fused_run.whole.begin();
        std::uint32_t next = unit.first, number = 0;
        for (const PlanUnit& part : fused_run.units) {
            if (part.first != next || part.count == 0 || part.count > unit.end() - next)
                return wrong(unit.first, "the units of the fused run are not its ops in order");
            RETRACE_CHECK(check_part(part, number++));
            next = part.end();
        }
        if (next != unit.end()) return wrong(unit.first, "the units of the fused run are not its ops in order");
        return retrace::Unit{};
    }

    /// Checks one op, or ops that run together element by element.
    Status<> check_part(const PlanUnit& part, std::uint32_t number) {
        slots_.clear();
        part_ = part;
        number_ = number;
        std::vector<Access> locals;  // Values that this part wrote into the chunk's own memory.
        std::optional<Geometry> geometry;
        for (std::uint32_t op = part.first; op < part.end(); ++op) {
            RETRACE_CHECK(check_place(op));
            if (place(op).where == Where::alias) {
                if (op == part.first && part.count > 1) return wrong(op, "an elementwise run begins with an alias");
                if (fused_run_ != nullptr) ++whole_;
                continue;
            }
            const bool elementwise = is_elementwise(record(op).code);
            const Geometry own = shape(output(op));
            if (part.count > 1 &&
                (!elementwise || (geometry && (own.rows != geometry->rows || own.cols != geometry->cols))))
                return wrong(op, "it does not run element by element together with its unit");
            geometry = own;
            if (fused_run_ != nullptr) RETRACE_CHECK(check_parts(op));
            for (const std::uint32_t input : record(op).inputs) RETRACE_CHECK(check_read(op, input, locals));
            RETRACE_CHECK(check_write(op, elementwise, locals));
        }
        for (const Access& local : locals) local_.write(local.region, local.value);
        return retrace::Unit{};
    }

    /// Checks that the n-th part of the output depends only on the n-th parts of the inputs, or on whole inputs.
    Status<> check_parts(std::uint32_t op) const {
        const OpCode code = record(op).code;
        const Dims& dims = program_.tensors[output(op)].dims;
        const Geometry out = shape(output(op));
        const bool rows = code == OpCode::row_sum || code == OpCode::row_max || code == OpCode::row_argmax ||
                          code == OpCode::row_argmax_pick || code == OpCode::matmul;
        if (out.elements() == 0 || (!rows && !is_elementwise(code))) return wrong(op, "it cannot be computed in parts");
        std::uint64_t parts = out.rows;
        if (code == OpCode::matmul) parts = out.rows / dims[dims.size() - 2];
        if (rows_ && goes_by_parts(program_, op, fused_run_->parts)) return retrace::Unit{};
        if (parts % fused_run_->parts != 0) return wrong(op, "it cannot be cut into the fused run's parts");
        for (const std::uint32_t input : record(op).inputs) {
            const Dims& from = program_.tensors[input].dims;
            std::uint64_t own = shape(input).rows;
            if (shape(input).elements() == 0) return wrong(op, "an input has no elements to cut");
            if (code == OpCode::matmul) own = own / from[from.size() - 2];
            if (rows && own != parts) return wrong(op, "an input has another number of parts");
        }
        return retrace::Unit{};
    }

    Region local_region(std::uint32_t value) const {
        const std::uint64_t part = bytes(value) / fused_run_->parts * fused_run_->chunk;
        return {kArena, place(writer(value)).at, part};
    }

    Reach reach_of(std::uint32_t op, std::uint32_t input) const {
        if (updates_first_operand(record(op).code)) {
            const auto& inputs = record(op).inputs;
            return input == inputs[0] && std::count(inputs.begin(), inputs.end(), input) == 1 ? Reach::element
                                                                                              : Reach::whole;
        }
        if (!is_elementwise(record(op).code)) return fused_run_ != nullptr ? Reach::part : Reach::whole;
        const Spread spread = *spread_of(shape(output(op)), shape(input));
        if (spread == Spread::full) return Reach::element;
        return spread == Spread::column && fused_run_ != nullptr ? Reach::part : Reach::whole;
    }

    bool in_unit(std::uint32_t value) const {
        return program_.is_op_output(value) && writer(value) >= unit_.first && writer(value) < unit_.end();
    }

    Status<> check_read(std::uint32_t op, std::uint32_t input, std::vector<Access>& locals) {
        if (bytes(input) == 0) {
            if (fused_run_ != nullptr) ++whole_;
            return retrace::Unit{};
        }
        const std::uint32_t value = value_of(input);
        if (is(value, Where::gathered)) return check_gathered(op, input, value);
        const Reach reach = reach_of(op, input);
        if (fused_run_ != nullptr) {
            if (*whole_++ != (reach == Reach::whole))
                return wrong(op, "the fused run is wrong about whether an input is read as a whole");
            if (!read_whole_.try_emplace(input, reach == Reach::whole).first->second == (reach == Reach::whole))
                return wrong(op, "the fused run reads one tensor both in parts and as a whole");
        }
        if (is(value, Where::scratch)) {
            const auto slot = slots_.find(place(writer(value)).at);
            const bool here = value == input && slot != slots_.end() && slot->second == value;
            return here && reach == Reach::element ? Status<>(retrace::Unit{})
                                                   : wrong(op, "its scratch slot holds another value");
        }
        if (is(value, Where::chunk)) {
            if (fused_run_ == nullptr || !in_unit(value) || reach == Reach::whole)
                return wrong(op, "it reads a value that is not in this chunk");
            const Region region = local_region(value);
            const bool fresh = writer(value) >= part_.first;  // Written by this part, so not overwritten by it.
            if (!(fresh && reach == Reach::element) && !local_.holds(region, value))
                return wrong(op, "the chunk's memory holds another value than its input");
            for (const Access& local : locals)
                if (local.value != value && local.region.overlaps(region))
                    return wrong(op, "its input is overwritten in the chunk");
            local_reads_.push_back({op, number_, value, region, reach});
            return retrace::Unit{};
        }
        const Region region = region_of(value);
        if (in_unit(value)) {
            if (reach == Reach::whole) return wrong(op, "it reads the whole of a tensor that its unit still computes");
        } else if (!contents_.holds(region, value)) {
            return wrong(op, "the memory of tensor " + std::to_string(input) + " holds another value");
        }
        reads_.push_back({op, number_, value, region, reach});
        return retrace::Unit{};
    }

    /// Checks a read of an op that gathers windows of an image itself.
    Status<> check_gathered(std::uint32_t op, std::uint32_t input, std::uint32_t value) {
        const OpRecord& reader = record(op);
        bool can = value == input && fused_run_ == nullptr && part_.count == 1;
        if (reader.code == OpCode::matmul) {
            const bool first = reader.inputs[0] == input, second = reader.inputs[1] == input;
            can = can && first != second && reader.attributes[first ? 1 : 2] == 0;
        } else {
            can = can && (reader.code == OpCode::row_max || reader.code == OpCode::row_argmax) &&
                  shape(output(op)).cols == 1;
        }
        if (!can) return wrong(op, "it cannot gather the windows itself");
        const std::uint32_t image = value_of(record(writer(value)).inputs[0]);
        if (bytes(image) == 0) return retrace::Unit{};
        if (!in_memory(image) || !contents_.holds(region_of(image), image))
            return wrong(op, "the image is no longer in memory");
        reads_.push_back({op, number_, image, region_of(image), Reach::whole});
        return retrace::Unit{};
    }

    Status<> check_write(std::uint32_t op, bool elementwise, std::vector<Access>& locals) {
        const std::uint32_t value = output(op);
        const BufferLocation& at = place(op);
        if (bytes(value) == 0 || at.where == Where::gathered) return retrace::Unit{};
        if (at.where == Where::scratch) {
            if (!elementwise) return wrong(op, "only an elementwise op may use a scratch slot");
            for (const std::uint32_t input : record(op).inputs)
                if (is(input, Where::scratch) && place(writer(input)).at == at.at)
                    return wrong(op, "it writes the scratch slot that it reads");
            slots_[at.at] = value;
        } else if (at.where == Where::chunk) {
            if (fused_run_ == nullptr) return wrong(op, "it uses a chunk's memory outside a fused run");
            const Region region = local_region(value);
            if (at.at % 64 != 0 || region.end() > fused_run_->bytes)
                return wrong(op, "its buffer is not aligned to 64 bytes or exceeds the chunk's memory");
            for (const Access& read : local_reads_)
                if (read.part == number_ && read.value != value && read.region.overlaps(region))
                    return wrong(op, "it overwrites memory that its part reads");
            for (const Access& local : locals)
                if (local.region.overlaps(region)) return wrong(op, "it overwrites memory that its part wrote");
            locals.push_back({op, number_, value, region, Reach::element});
        } else {
            writes_.push_back({op, number_, value, region_of(value), Reach::element});
        }
        return retrace::Unit{};
    }

    /// Chunks and blocks run in any order: a value that is overwritten in a unit may be read in that unit only at the
    /// same place and before it is overwritten there.
    Status<> check_conflicts() const {
        for (const Access& write : writes_) {
            for (const Access& other : writes_)
                if (other.region.overlaps(write.region) && !(other.region == write.region))
                    return wrong(write.op, "its output overlaps another output of the unit");
            for (const Access& read : reads_) {
                if (!read.region.overlaps(write.region)) continue;
                if (read.value == write.value) continue;
                const bool own = in_unit(read.value);
                if (own && writer(read.value) > write.op) continue;  // The value read was written later.
                const bool apart = read.part < write.part && read.reach != Reach::whole;
                const bool in_place = read.part == write.part && read.reach == Reach::element;
                if (!(read.region == write.region) || read.op > write.op || !(apart || in_place))
                    return wrong(write.op, "overwrites what op " + std::to_string(read.op) + " of its unit reads");
            }
        }
        return retrace::Unit{};
    }

    /// Checks the end of the step, where the next states are copied in order to their state tensors unless they are
    /// there already.
    Status<> check_states() {
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t op = program_.tensors[s].writer;
            if (bytes(s) == 0) continue;
            const std::uint32_t value = op == kNoWriter ? s : value_of(output(op));
            if (!in_memory(value) || !contents_.holds(region_of(value), value))
                return error("plan: the next value of state " + std::to_string(s) + " is gone");
            contents_.write({s, 0, bytes(s)}, value);
        }
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t op = program_.tensors[s].writer;
            const std::uint32_t value = op == kNoWriter ? s : value_of(output(op));
            if (bytes(s) != 0 && !contents_.holds({s, 0, bytes(s)}, value))
                return error("plan: state " + std::to_string(s) + " is overwritten");
        }
        return retrace::Unit{};
    }

    const Program& program_;
    const MemoryPlan& plan_;
    const bool rows_;                    ///< Fused runs go row by row.
    std::vector<std::uint32_t> values_;  ///< By tensor: the tensor that remains when all aliases are resolved.
    std::uint32_t fused_runs_ = 0;       ///< Number of fused runs checked so far.
    Contents contents_;

    // State for the unit that is being checked.
    PlanUnit unit_, part_;
    std::uint32_t number_ = 0;  ///< Number of the current part.
    const FusedRun* fused_run_ = nullptr;
    std::vector<bool>::const_iterator whole_;   ///< Position of the next input to check in FusedRun::whole.
    std::map<std::uint32_t, bool> read_whole_;  ///< By tensor that the fused run reads: whether it is read as a whole.
    std::vector<Access> reads_, writes_;        ///< Accesses to memory outside chunks.
    std::vector<Access> local_reads_;           ///< Reads of a chunk's own memory.
    Contents local_;                            ///< Contents of a chunk's own memory after the parts so far.
    std::map<std::uint64_t, std::uint32_t> slots_;  ///< Values that the scratch slots hold.
};

}  // namespace

Status<> check_plan(const Program& program, const MemoryPlan& plan, bool rows) {
    return Checker(program, plan, rows).run();
}

}  // namespace retrace::kernels
