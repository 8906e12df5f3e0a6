// SPDX-License-Identifier: MIT
#include "kernels/exec/plan.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "kernels/exec/arena.hpp"
#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint32_t kGroupMax = 64;  ///< Ops of one group.
constexpr std::uint64_t kGatheredColumns = 1024;  ///< Beyond, gathering a row for every block of K costs too much.

std::uint64_t bytes_of(const TensorRecord& record) {
    const std::uint64_t bytes = geometry(record.dims).elements() * size_of(record.dtype);
    return (std::max<std::uint64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

class Planner {
public:
    Planner(const Program& program, bool isolated, bool gathers)
        : program_(program), isolated_(isolated), gathers_(gathers) {
        plan_.places.resize(program.ops.size());
        owner_.resize(program.tensors.size());
        last_use_.assign(program.tensors.size(), 0);
        for (std::uint32_t t = 0; t < owner_.size(); ++t) owner_[t] = t;
    }

    MemoryPlan run() {
        if (!isolated_) find_aliases();
        find_last_uses();
        if (!isolated_ && gathers_) find_gathered();
        find_units();
        if (!isolated_) {
            overwrite_states();
            for (const Unit& unit : plan_.units) find_scratch(unit);
        }
        allocate();
        return std::move(plan_);
    }

private:
    std::uint32_t ops() const { return static_cast<std::uint32_t>(program_.ops.size()); }
    std::uint32_t output(std::uint32_t op) const { return program_.output_of(op); }
    const TensorRecord& record(std::uint32_t op) const { return program_.tensors[output(op)]; }
    bool in_arena(std::uint32_t op) const { return plan_.places[op].where == Place::Where::arena; }

    void find_aliases() {
        std::set<std::uint32_t> writers;
        for (std::uint32_t s = 0; s < program_.states; ++s) writers.insert(program_.tensors[s].writer);
        for (std::uint32_t i = 0; i < ops(); ++i) {
            if (program_.ops[i].code != OpCode::reshape) continue;
            const std::uint32_t input = program_.ops[i].inputs[0];
            // The next value of one state tensor may not lie in another one, which may be written first.
            if (writers.contains(i) && owner_[input] < program_.states) continue;
            owner_[output(i)] = owner_[input];
            plan_.places[i] = {Place::Where::alias, input};
        }
    }

    void find_last_uses() {
        for (std::uint32_t i = 0; i < ops(); ++i) {
            last_use_[owner_[output(i)]] = std::max(last_use_[owner_[output(i)]], i);
            for (const std::uint32_t input : program_.ops[i].inputs) last_use_[owner_[input]] = i;
            if (!record(i).name.empty()) last_use_[owner_[output(i)]] = ops();  // a metric is read after the step
        }
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t writer = program_.tensors[s].writer;
            if (writer != kNoWriter) last_use_[owner_[output(writer)]] = ops();
        }
    }

    /// Window matrices of images that all readers can gather for themselves, a few rows at a time.
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
                             [&](std::uint32_t reader) { return can_gather(reader, tensor); })) continue;
            const std::uint32_t image = program_.ops[i].inputs[0];
            plan_.places[i] = {Place::Where::gathered, image};
            last_use_[owner_[image]] = std::max(last_use_[owner_[image]], last_use_[tensor]);
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
        for (std::uint32_t i = 0; i < ops();) {
            Unit unit{i, 1};
            if (!isolated_ && is_elementwise(program_.ops[i].code)) {
                const Geometry shape = geometry(record(i).dims);
                while (unit.end() < ops() && unit.count < kGroupMax && joins(unit, shape)) ++unit.count;
            }
            plan_.units.push_back(unit);
            i = unit.end();
        }
    }

    bool joins(const Unit& unit, const Geometry& shape) const {
        const std::uint32_t op = unit.end();
        if (plan_.places[op].where == Place::Where::alias) return owner_[output(op)] < output(unit.first);
        const Geometry own = geometry(record(op).dims);
        return is_elementwise(program_.ops[op].code) && own.rows == shape.rows && own.cols == shape.cols;
    }

    /// The op reads element n of `tensor` for its element n and no other.
    bool reads_in_place(std::uint32_t op, std::uint32_t tensor) const {
        if (!is_elementwise(program_.ops[op].code)) return false;
        const Geometry shape = geometry(record(op).dims);
        return std::all_of(program_.ops[op].inputs.begin(), program_.ops[op].inputs.end(), [&](std::uint32_t input) {
            return owner_[input] != tensor || spread_of(shape, geometry(program_.tensors[input].dims)) == Spread::full;
        });
    }

    bool reads(std::uint32_t op, std::uint32_t tensor) const {
        const auto& inputs = program_.ops[op].inputs;
        return std::any_of(inputs.begin(), inputs.end(), [&](std::uint32_t input) { return owner_[input] == tensor; });
    }

    /// The writer reads its state tensor element by element or not at all, and nobody reads it later.
    bool may_overwrite(std::uint32_t state, std::uint32_t writer) const {
        if (owner_[output(writer)] != output(writer) || last_use_[state] > writer) return false;
        return !reads(writer, state) || reads_in_place(writer, state);
    }

    void overwrite_states() {
        std::set<std::uint32_t> taken;
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t writer = program_.tensors[s].writer;
            if (writer == kNoWriter || !may_overwrite(s, writer) || !taken.insert(writer).second) continue;
            plan_.places[writer] = {Place::Where::state, s};
        }
    }

    /// Values that only their own group reads stay in scratch slots.
    void find_scratch(const Unit& unit) {
        std::vector<std::uint32_t> free;
        for (std::uint32_t slot = kScratchSlots; slot-- > 0;) free.push_back(slot);
        for (std::uint32_t i = unit.first; i < unit.end(); ++i) {
            if (in_arena(i) && last_use_[output(i)] < unit.end() && last_use_[output(i)] > i && !free.empty()) {
                plan_.places[i] = {Place::Where::scratch, free.back()};
                free.pop_back();
            }
            for (std::uint32_t done = unit.first; done < i; ++done) {
                if (plan_.places[done].where == Place::Where::scratch && last_use_[output(done)] == i) {
                    free.push_back(static_cast<std::uint32_t>(plan_.places[done].at));
                }
            }
        }
    }

    /// The memory of `tensor`, computed before this unit, may become that of `op`'s output: its last reader is `op` or
    /// an earlier op of the unit, all of them read it element by element, and it has the same size.
    bool may_inherit(std::uint32_t op, std::uint32_t tensor, const Unit& unit) const {
        if (!program_.is_op_output(tensor) || owner_[tensor] != tensor || last_use_[tensor] > op) return false;
        const std::uint32_t writer = tensor - program_.tensors_static();
        if (writer >= unit.first || !in_arena(writer) || given_.contains(writer)) return false;
        if (program_.tensors[tensor].dtype != record(op).dtype) return false;
        if (bytes_of(program_.tensors[tensor]) != bytes_of(record(op))) return false;
        for (std::uint32_t i = unit.first; i <= op; ++i) {
            if (reads(i, tensor) && !reads_in_place(i, tensor)) return false;
        }
        return true;
    }

    /// The op whose output's memory `op` takes over.
    std::optional<std::uint32_t> inherited(std::uint32_t op, const Unit& unit) const {
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
        for (const Unit& unit : plan_.units) {
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
    const bool isolated_, gathers_;
    MemoryPlan plan_;
    std::vector<std::uint32_t> owner_;     ///< The tensor whose memory a tensor shares; itself where it has its own.
    std::vector<std::uint32_t> last_use_;  ///< Op that reads an owner's memory last; the op count: after the step.
    std::set<std::uint32_t> given_;        ///< Ops whose output's memory another output has taken over.
};

}  // namespace

MemoryPlan plan_memory(const Program& program, bool isolated, bool gathers) {
    return Planner(program, isolated, gathers).run();
}

}  // namespace retrace::kernels
