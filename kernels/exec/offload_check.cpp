// SPDX-License-Identifier: MIT
// The planner chooses; this check only follows the transfers and asks of each unit whether the values that it reads lie
// where it reads them. A value is the number of the tensor that it is.
#include <algorithm>
#include <map>
#include <set>

#include "kernels/exec/memory_contents.hpp"
#include "kernels/exec/metric.hpp"
#include "kernels/exec/offload_plan.hpp"

namespace retrace::kernels {
namespace {

using Where = BufferLocation::Where;

class TransferChecker {
public:
    TransferChecker(const Program& program, const MemoryPlan& plan, const OffloadPlan& offload)
        : program_(program), plan_(plan), offload_(offload), owners_(memory_owners(program, plan)) {}

    Status<> run() {
        RETRACE_CHECK(check_blocks());
        for (std::uint32_t b = 0; b < offload_.blocks.size(); ++b)
            if (const std::uint32_t s = offload_.blocks[b].state; s != kNoBlock) store_[b] = s;
        const auto units = static_cast<std::uint32_t>(plan_.units.size() + offload_.copies.size());
        if (offload_.units.size() != units || offload_.needed.size() != units)
            return error("offload: not as many units as the plan has");
        for (unit_ = 0; unit_ < units; ++unit_) {
            RETRACE_CHECK(run_transfers(offload_.needed[unit_]));
            RETRACE_CHECK(check_unit());
        }
        RETRACE_CHECK(run_transfers(static_cast<std::uint32_t>(offload_.transfers.size())));
        return check_states();
    }

private:
    std::uint64_t bytes(std::uint32_t tensor) const {
        const TensorRecord& record = program_.tensors[tensor];
        return geometry(record.dims).elements() * size_of(record.dtype);
    }
    Unexpected<Error> wrong(std::string_view what) const {
        return error("offload of unit " + std::to_string(unit_) + ": " + std::string(what));
    }
    Region region(std::uint64_t at, std::uint32_t block) const { return {kArena, at, offload_.blocks[block].bytes}; }

    Status<> check_blocks() const {
        if (offload_.block_of.size() != program_.tensors.size()) return error("offload: a block for every tensor");
        for (std::uint32_t t = 0; t < offload_.block_of.size(); ++t) {
            const std::uint32_t block = offload_.block_of[t];
            if (block == kNoBlock) continue;
            if (block >= offload_.blocks.size() || bytes(owners_[t]) > offload_.blocks[block].bytes)
                return error("offload: tensor " + std::to_string(t) + " does not fit its block");
        }
        std::vector<bool> is_state(offload_.blocks.size());
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t block = offload_.block_of[s];
            if (bytes(s) != 0 && (block == kNoBlock || offload_.blocks[block].state != s))
                return error("offload: state " + std::to_string(s) + " has no block of its own");
        }
        for (const std::uint32_t s : offload_.copies)
            if (s >= program_.states || program_.tensors[s].writer == kNoWriter)
                return error("offload: a copy of what is no next state");
        return retrace::Unit{};
    }

    // ---- transfers

    /// Runs the transfers up to number `end`, as late as the plan allows. None may touch what a unit uses that could run
    /// beside it, so an earlier run would do the same.
    Status<> run_transfers(std::uint32_t end) {
        if (end > offload_.transfers.size()) return wrong("it waits for transfers that do not exist");
        for (; done_ < end; ++done_) {
            const Transfer& transfer = offload_.transfers[done_];
            if (transfer.block >= offload_.blocks.size()) return wrong("a transfer of no block");
            if (transfer.after > unit_) return wrong("it waits for a transfer that waits for it");
            if (done_ > 0 && offload_.transfers[done_ - 1].after > transfer.after)
                return wrong("a transfer waits for one that begins later");
            if (transfer.at > offload_.room || offload_.blocks[transfer.block].bytes > offload_.room - transfer.at)
                return wrong("a transfer leaves the room");
            RETRACE_CHECK(check_beside(transfer));
            RETRACE_CHECK(transfer.store ? run_store(transfer) : run_load(transfer));
        }
        return retrace::Unit{};
    }

    /// No unit that may run beside the transfer writes its memory; none reads what a load overwrites.
    Status<> check_beside(const Transfer& transfer) const {
        const Region own = region(transfer.at, transfer.block);
        for (std::uint32_t unit = transfer.after; unit < unit_; ++unit) {
            for (const Placement& placement : offload_.units[unit]) {
                if (!region(placement.at, placement.block).overlaps(own)) continue;
                if (!transfer.store || writes_.contains({unit, placement.block}))
                    return wrong("a transfer of what unit " + std::to_string(unit) + " uses at the same time");
            }
        }
        return retrace::Unit{};
    }

    Status<> run_store(const Transfer& transfer) {
        const auto value = held_.find(transfer.at);
        const OffloadBlock& block = offload_.blocks[transfer.block];
        if (value == held_.end() || !room_.holds(region(transfer.at, transfer.block), value->second) ||
            block_of(value->second) != transfer.block)
            return wrong("it stores what is not in the room");
        if (block.state != kNoBlock && (!transfer.next || value->second == block.state))
            return wrong("it overwrites the state that the step began with");
        if (block.state == kNoBlock &&
            (!block.spilled || block.spill > offload_.spill || block.bytes > offload_.spill - block.spill))
            return wrong("it stores outside the spill area");
        if (block.state == kNoBlock) {
            const Region place{kArena, block.spill, block.bytes};
            spill_.write(place, value->second);
        }
        store_[transfer.block] = value->second;
        return retrace::Unit{};
    }

    Status<> run_load(const Transfer& transfer) {
        const auto stored = store_.find(transfer.block);
        const OffloadBlock& block = offload_.blocks[transfer.block];
        if (stored == store_.end()) return wrong("it loads what was not stored");
        if (block.state != kNoBlock && transfer.next == (stored->second == block.state))
            return wrong("it loads another version of a state tensor");
        if (block.state == kNoBlock && !spill_.holds({kArena, block.spill, block.bytes}, stored->second))
            return wrong("it loads what was overwritten in the store");
        put(transfer.at, transfer.block, stored->second);
        return retrace::Unit{};
    }

    void put(std::uint64_t at, std::uint32_t block, std::uint32_t value) {
        room_.write(region(at, block), value);
        held_[at] = value;
    }

    // ---- units

    Status<> check_unit() {
        const std::vector<Placement>& placements = offload_.units[unit_];
        for (const Placement& a : placements) {
            if (a.block >= offload_.blocks.size() || a.at > offload_.room ||
                offload_.blocks[a.block].bytes > offload_.room - a.at)
                return wrong("a block leaves the room");
            for (const Placement& b : placements)
                if (&a != &b && region(a.at, a.block).overlaps(region(b.at, b.block)))
                    return wrong("two of its blocks overlap");
        }
        if (unit_ >= plan_.units.size()) return check_copy(offload_.copies[unit_ - plan_.units.size()]);
        const PlanUnit& unit = plan_.units[unit_];
        for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
            const Where where = plan_.places[op].where;
            if (where == Where::alias || where == Where::gathered) continue;
            for (const std::uint32_t input : program_.ops[op].inputs)
                if (owners_[input] < program_.output_of(unit.first)) RETRACE_CHECK(check_read(owners_[input]));
        }
        std::map<std::uint32_t, std::uint32_t> written;  // by block: the value
        for (std::uint32_t op = unit.first; op < unit.end(); ++op) RETRACE_CHECK(check_write(op, written));
        for (const auto& [block, value] : written) RETRACE_CHECK(write(block, value));
        for (std::uint32_t op = unit.first; op < unit.end(); ++op)  // metrics are reported now
            if (is_metric(program_.tensors[program_.output_of(op)]))
                RETRACE_CHECK(check_read(owners_[program_.output_of(op)]));
        return retrace::Unit{};
    }

    const Placement* placement(std::uint32_t block) const {
        const auto& all = offload_.units[unit_];
        const auto found = std::find_if(all.begin(), all.end(), [&](const Placement& p) { return p.block == block; });
        return found == all.end() ? nullptr : &*found;
    }

    Status<> check_read(std::uint32_t value) const {
        if (bytes(value) == 0 || !lies_in_a_block(value)) return retrace::Unit{};
        const std::uint32_t block = offload_.block_of[value];
        const Placement* const place = block == kNoBlock ? nullptr : placement(block);
        if (place == nullptr || !room_.holds(region(place->at, block), value))
            return wrong("tensor " + std::to_string(value) + " is not in the room");
        return retrace::Unit{};
    }

    /// Constants and data sets lie elsewhere, and so do values that are never in memory as a whole.
    bool lies_in_a_block(std::uint32_t value) const {
        if (!program_.is_op_output(value)) return value < program_.states;
        const Where where = plan_.places[value - program_.tensors_static()].where;
        return where == Where::arena || where == Where::state;
    }

    /// Within a unit check_plan knows what may share memory: outputs of one block share it in the plan too.
    Status<> check_write(std::uint32_t op, std::map<std::uint32_t, std::uint32_t>& written) const {
        const std::uint32_t output = program_.output_of(op);
        if (bytes(output) == 0 || !lies_in_a_block(output)) return retrace::Unit{};
        const std::uint32_t block = offload_.block_of[output];
        if (block == kNoBlock || placement(block) == nullptr) return wrong("an output has no place in the room");
        const BufferLocation& place = plan_.places[op];
        if (place.where == Where::state && offload_.block_of[place.at] != block)
            return wrong("a next state is written to another block");
        const PlanUnit& unit = plan_.units[unit_];
        for (std::uint32_t other = unit.first; other < unit.end(); ++other)
            for (const std::uint32_t input : program_.ops[other].inputs)
                if (!shares(owners_[input], output)) return wrong("an output overwrites what its unit reads");
        const auto [before, first] = written.try_emplace(block, output);
        if (!first && !shares(before->second, output)) return wrong("two outputs share a block");
        before->second = output;
        return retrace::Unit{};
    }

    /// Whether two values lie in different blocks, or at the same place of the memory plan too.
    bool shares(std::uint32_t a, std::uint32_t b) const {
        if (!lies_in_a_block(a) || bytes(a) == 0 || offload_.block_of[a] != offload_.block_of[b]) return true;
        return home(a) == home(b);
    }
    std::pair<std::uint64_t, std::uint64_t> home(std::uint32_t value) const {
        if (!program_.is_op_output(value)) return {value, 0};
        const BufferLocation& place = plan_.places[value - program_.tensors_static()];
        if (place.where == Where::state) return {place.at, 0};
        return {kArena, place.at};
    }

    Status<> write(std::uint32_t block, std::uint32_t value) {
        writes_.insert({unit_, block});
        put(placement(block)->at, block, value);
        return retrace::Unit{};
    }

    Status<> check_copy(std::uint32_t state) {
        const std::uint32_t value = owners_[program_.output_of(program_.tensors[state].writer)];
        RETRACE_CHECK(check_read(value));
        const std::uint32_t to = offload_.block_of[state];
        if (to == kNoBlock || placement(to) == nullptr) return wrong("a next state has no place in the room");
        copied_.insert(state);
        return write(to, copied_value(state));
    }

    /// A next state that was copied to its block is a value of its own.
    std::uint32_t copied_value(std::uint32_t state) const {
        return static_cast<std::uint32_t>(program_.tensors.size()) + state;
    }
    std::uint32_t block_of(std::uint32_t value) const {
        const std::size_t tensors = offload_.block_of.size();
        return offload_.block_of[value < tensors ? value : value - tensors];
    }

    Status<> check_states() const {
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            if (bytes(s) == 0) continue;
            const std::uint32_t writer = program_.tensors[s].writer;
            const auto stored = store_.find(offload_.block_of[s]);
            const std::uint32_t wanted = writer == kNoWriter   ? s
                                         : copied_.contains(s) ? copied_value(s)
                                                               : owners_[program_.output_of(writer)];
            if (stored == store_.end() || stored->second != wanted)
                return error("offload: the next value of state " + std::to_string(s) + " is not in the store");
        }
        return retrace::Unit{};
    }

    const Program& program_;
    const MemoryPlan& plan_;
    const OffloadPlan& offload_;
    const std::vector<std::uint32_t> owners_;
    std::uint32_t unit_ = 0, done_ = 0;  ///< The unit at hand; number of transfers that are done.
    Contents room_, spill_;
    std::map<std::uint64_t, std::uint32_t> held_;   ///< By offset in the room: the value that was last put there.
    std::map<std::uint32_t, std::uint32_t> store_;  ///< By block: the value in the store.
    std::set<std::uint32_t> copied_;                ///< State tensors whose next value was copied.
    std::set<std::pair<std::uint32_t, std::uint32_t>> writes_;  ///< Units and the blocks that they write.
};

}  // namespace

Status<> check_offload(const Program& program, const MemoryPlan& plan, const OffloadPlan& offload) {
    return TransferChecker(program, plan, offload).run();
}

}  // namespace retrace::kernels
