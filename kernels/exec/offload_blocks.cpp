// SPDX-License-Identifier: MIT
#include "kernels/exec/offload_blocks.hpp"

#include <algorithm>
#include <map>

#include "kernels/exec/metric.hpp"

namespace retrace::kernels {
namespace {

using Where = BufferLocation::Where;

class BlockFinder {
public:
    BlockFinder(const Program& program, const MemoryPlan& plan, std::uint64_t alignment)
        : program_(program), plan_(plan), alignment_(alignment), owners_(memory_owners(program, plan)) {
        out_.block_of.assign(program.tensors.size(), kNoBlock);
    }

    OffloadBlocks run() {
        for (std::uint32_t s = 0; s < program_.states; ++s)
            if (bytes(s) != 0) out_.block_of[s] = add(bytes(s), s);
        for (const PlanUnit& unit : plan_.units) {
            uses_.clear();
            for (std::uint32_t op = unit.first; op < unit.end(); ++op) find_reads(op, unit);
            for (std::uint32_t op = unit.first; op < unit.end(); ++op) find_write(op);
            out_.uses.push_back(uses_);
        }
        for (std::uint32_t s = 0; s < program_.states; ++s) find_copy(s);
        for (std::uint32_t t = 0; t < out_.block_of.size(); ++t) out_.block_of[t] = out_.block_of[owners_[t]];
        return std::move(out_);
    }

private:
    std::uint64_t bytes(std::uint32_t tensor) const {
        const TensorRecord& record = program_.tensors[tensor];
        return geometry(record.dims).elements() * size_of(record.dtype);
    }
    bool computes_nothing(std::uint32_t op) const {
        return plan_.places[op].where == Where::alias || plan_.places[op].where == Where::gathered;
    }
    std::uint32_t add(std::uint64_t bytes, std::uint32_t state) {
        out_.blocks.push_back({(bytes + alignment_ - 1) / alignment_ * alignment_, state, 0, false});
        return static_cast<std::uint32_t>(out_.blocks.size() - 1);
    }
    BlockUse& use(std::uint32_t block) {
        const auto found =
            std::find_if(uses_.begin(), uses_.end(), [&](const BlockUse& u) { return u.block == block; });
        if (found != uses_.end()) return *found;
        return uses_.emplace_back(BlockUse{block, false, false});
    }

    void find_reads(std::uint32_t op, const PlanUnit& unit) {
        const auto read = [&](std::uint32_t tensor) {
            const std::uint32_t owner = owners_[tensor];
            if (owner >= program_.output_of(unit.first)) return;  // the unit itself computes it
            if (out_.block_of[owner] != kNoBlock) use(out_.block_of[owner]).reads = true;
        };
        const std::uint32_t output = program_.output_of(op);
        if (is_metric(program_.tensors[output])) read(output);  // an alias is reported with its unit
        if (computes_nothing(op)) return;
        for (const std::uint32_t input : program_.ops[op].inputs) read(input);
    }

    void find_write(std::uint32_t op) {
        const BufferLocation& place = plan_.places[op];
        const std::uint32_t output = program_.output_of(op);
        if (bytes(output) == 0 || (place.where != Where::arena && place.where != Where::state)) return;
        const std::uint32_t block =
            place.where == Where::state ? out_.block_of[place.at] : block_in_arena(place.at, bytes(output));
        out_.block_of[output] = block;
        use(block).writes = true;
    }

    /// An output that takes over the memory of what its unit reads lies in the same block.
    std::uint32_t block_in_arena(std::uint64_t at, std::uint64_t bytes) {
        const auto [here, fresh] = arena_.try_emplace(at, kNoBlock);
        const auto is_here = [&](const BlockUse& u) { return u.block == here->second; };
        if (fresh || std::none_of(uses_.begin(), uses_.end(), is_here) || out_.blocks[here->second].bytes < bytes)
            here->second = add(bytes, kNoBlock);
        return here->second;
    }

    /// The state's next value, unless it was written in its place, is copied there after all units.
    void find_copy(std::uint32_t state) {
        const std::uint32_t writer = program_.tensors[state].writer;
        if (writer == kNoWriter || bytes(state) == 0) return;
        const std::uint32_t from = out_.block_of[owners_[program_.output_of(writer)]], to = out_.block_of[state];
        if (from == to) return;
        uses_.clear();
        if (from != kNoBlock) use(from).reads = true;
        use(to).writes = true;
        out_.uses.push_back(uses_);
        out_.copies.push_back(state);
    }

    const Program& program_;
    const MemoryPlan& plan_;
    const std::uint64_t alignment_;
    const std::vector<std::uint32_t> owners_;
    OffloadBlocks out_;
    std::vector<BlockUse> uses_;                    ///< Of the unit at hand.
    std::map<std::uint64_t, std::uint32_t> arena_;  ///< By offset in the arena: the newest block there.
};

}  // namespace

std::vector<std::uint32_t> memory_owners(const Program& program, const MemoryPlan& plan) {
    std::vector<std::uint32_t> owners(program.tensors.size());
    for (std::uint32_t t = 0; t < owners.size(); ++t) {
        owners[t] = t;
        if (!program.is_op_output(t)) continue;
        const BufferLocation& place = plan.places[t - program.tensors_static()];
        if (place.where == Where::alias || place.where == Where::gathered)
            owners[t] = owners[static_cast<std::uint32_t>(place.at)];
    }
    return owners;
}

OffloadBlocks find_blocks(const Program& program, const MemoryPlan& plan, std::uint64_t alignment) {
    return BlockFinder(program, plan, alignment).run();
}

}  // namespace retrace::kernels
