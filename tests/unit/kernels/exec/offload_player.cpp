// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/exec/offload_player.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace retrace::kernels::testing {
namespace {

using Where = BufferLocation::Where;
using Cells = std::vector<std::uint32_t>;  ///< One for each `alignment` bytes: the number of the value there.

constexpr std::uint32_t kNothing = 0xffffffff;

class Wrong : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

void need(bool holds, const std::string& what) {
    if (!holds) throw Wrong(what);
}

class Player {
public:
    Player(const OffloadedProgram& of, const OffloadPlan& offload)
        : program_(of.program),
          plan_(of.plan),
          offload_(offload),
          alignment_(of.alignment),
          owners_(memory_owners(of.program, of.plan)),
          room_(offload.room / of.alignment, kNothing),
          spill_(offload.spill / of.alignment, kNothing) {
        for (std::uint32_t b = 0; b < offload.blocks.size(); ++b)
            if (const std::uint32_t s = offload.blocks[b].state; s != kNoBlock) current_[b] = Cells(cells(b), s);
    }

    void run(const TransferFirst& first) {
        const auto units = static_cast<std::uint32_t>(plan_.units.size() + offload_.copies.size());
        need(offload_.units.size() == units && offload_.needed.size() == units, "another number of units");
        while (unit_ < units || transfer_ < offload_.transfers.size()) {
            const bool transfer =
                transfer_ < offload_.transfers.size() && (in_transfer_ || offload_.transfers[transfer_].after <= unit_);
            const bool unit = unit_ < units && (in_unit_ || offload_.needed[unit_] <= transfer_);
            need(transfer || unit, "each waits for the other");
            if (transfer && (!unit || first()))
                go_on_with_transfer(offload_.transfers[transfer_]);
            else
                go_on_with_unit();
        }
        check_state();
    }

private:
    std::uint64_t bytes(std::uint32_t tensor) const {
        return geometry(program_.tensors[tensor].dims).elements() * size_of(program_.tensors[tensor].dtype);
    }
    std::uint64_t cells(std::uint32_t block) const { return offload_.blocks.at(block).bytes / alignment_; }

    // ---- memory

    std::uint32_t* at(Cells& memory, std::uint64_t offset, std::uint64_t count) const {
        need(offset % alignment_ == 0 && offset / alignment_ <= memory.size() &&
                 count <= memory.size() - offset / alignment_,
             "outside the memory");
        return memory.data() + offset / alignment_;
    }
    Cells take(Cells& memory, std::uint64_t offset, std::uint64_t count) const {
        const std::uint32_t* const begin = at(memory, offset, count);
        return {begin, begin + count};
    }
    void put(Cells& memory, std::uint64_t offset, const Cells& what) const {
        std::copy(what.begin(), what.end(), at(memory, offset, what.size()));
    }
    /// A number that nothing else has: of memory that is being written.
    Cells unfinished(std::uint64_t count) { return Cells(count, kNothing - 1 - marks_++); }

    // ---- transfers

    void go_on_with_transfer(const Transfer& transfer) {
        need(transfer.block < offload_.blocks.size(), "a transfer of no block");
        const OffloadBlock& block = offload_.blocks[transfer.block];
        const std::uint64_t count = cells(transfer.block);
        if (!std::exchange(in_transfer_, !in_transfer_)) {
            moved_ = transfer.store ? take(room_, transfer.at, count) : stored(transfer, block, count);
            mark_ = unfinished(count);
            if (!transfer.store) put(room_, transfer.at, mark_);
            return;
        }
        if (transfer.store) {
            need(take(room_, transfer.at, count) == moved_, "memory that changed while it was stored");
            store(transfer, block);
        } else {
            need(take(room_, transfer.at, count) == mark_, "memory that was used while it was loaded");
            put(room_, transfer.at, moved_);
        }
        ++transfer_;
    }

    Cells stored(const Transfer& transfer, const OffloadBlock& block, std::uint64_t count) {
        if (block.state == kNoBlock) return take(spill_, block.spill, count);
        const auto& values = transfer.next ? next_ : current_;
        const auto found = values.find(transfer.block);
        return found == values.end() ? Cells(count, kNothing) : found->second;
    }
    void store(const Transfer& transfer, const OffloadBlock& block) {
        if (block.state == kNoBlock) return put(spill_, block.spill, moved_);
        need(transfer.next, "the state that the step began with was overwritten");
        next_[transfer.block] = moved_;
    }

    // ---- units

    struct Access {
        std::uint64_t at = 0, count = 0;
        std::uint32_t value = 0;
    };

    void go_on_with_unit() {
        if (!std::exchange(in_unit_, !in_unit_)) {
            find_accesses();
            for (const Access& read : reads_) check(read);
            check_writes();
            for (const Access& write : writes_) marks_of_writes_[write.at] = unfinished(write.count);
            for (const auto& [at, mark] : marks_of_writes_) put(room_, at, mark);
            return;
        }
        for (const Access& read : reads_)
            if (std::none_of(writes_.begin(), writes_.end(), [&](const Access& w) { return overlap(read, w); }))
                check(read);
        for (const auto& [at, mark] : marks_of_writes_)
            need(take(room_, at, mark.size()) == mark, "memory that was used while unit " + name() + " wrote it");
        for (const Access& write : writes_) put(room_, write.at, Cells(write.count, write.value));
        marks_of_writes_.clear();
        ++unit_;
    }
    std::string name() const { return std::to_string(unit_); }

    void check(const Access& read) {
        const std::uint64_t count = (bytes(tensor_of(read.value)) + alignment_ - 1) / alignment_;
        need(count <= read.count && take(room_, read.at, count) == Cells(count, read.value),
             "unit " + name() + " does not find value " + std::to_string(read.value));
    }
    bool overlap(const Access& a, const Access& b) const {
        return std::max(a.at, b.at) < std::min(a.at + a.count * alignment_, b.at + b.count * alignment_);
    }
    /// What a unit reads and writes shares memory only where it does in the memory plan, which was checked.
    void check_writes() const {
        for (const Access& write : writes_) {
            for (const auto* const others : {&reads_, &writes_})
                for (const Access& other : *others)
                    need(!overlap(other, write) || (other.at == write.at && home(other.value) == home(write.value)),
                         "unit " + name() + " overwrites what it uses");
        }
    }
    std::pair<bool, std::uint64_t> home(std::uint32_t value) const {
        const std::uint32_t tensor = tensor_of(value);
        if (tensor != value || !program_.is_op_output(tensor)) return {true, tensor};
        const BufferLocation& place = plan_.places[tensor - program_.tensors_static()];
        return {place.where == Where::state, place.at};
    }

    /// A next state that was copied is a value of its own.
    std::uint32_t copied(std::uint32_t state) const {
        return static_cast<std::uint32_t>(program_.tensors.size()) + state;
    }
    std::uint32_t tensor_of(std::uint32_t value) const {
        return value < program_.tensors.size() ? value : value - static_cast<std::uint32_t>(program_.tensors.size());
    }
    bool is_in_memory(std::uint32_t tensor) const {
        if (bytes(tensor) == 0) return false;
        if (!program_.is_op_output(tensor)) return tensor < program_.states;
        const Where where = plan_.places[tensor - program_.tensors_static()].where;
        return where == Where::arena || where == Where::state;
    }

    Access access(std::uint32_t tensor, std::uint32_t value) const {
        const std::uint32_t block = offload_.block_of.at(tensor);
        for (const Placement& placement : offload_.units[unit_])
            if (placement.block == block && block < offload_.blocks.size()) return {placement.at, cells(block), value};
        throw Wrong("unit " + name() + " has no place for tensor " + std::to_string(tensor));
    }

    void find_accesses() {
        reads_.clear(), writes_.clear();
        if (unit_ >= plan_.units.size()) {
            const std::uint32_t state = offload_.copies[unit_ - plan_.units.size()];
            need(state < program_.states && program_.tensors[state].writer != kNoWriter, "a copy of no next state");
            const std::uint32_t from = owners_[program_.output_of(program_.tensors[state].writer)];
            if (is_in_memory(from)) reads_.push_back(access(from, from));
            writes_.push_back(access(state, copied(state)));
            copied_[state] = true;
            return;
        }
        const PlanUnit& unit = plan_.units[unit_];
        for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
            const Where where = plan_.places[op].where;
            if (where == Where::alias || where == Where::gathered) continue;
            for (const std::uint32_t input : program_.ops[op].inputs) {
                const std::uint32_t owner = owners_[input];
                if (owner < program_.output_of(unit.first) && is_in_memory(owner))
                    reads_.push_back(access(owner, owner));
            }
            const std::uint32_t output = program_.output_of(op);
            if (is_in_memory(output)) writes_.push_back(access(output, output));
        }
    }

    // ---- the next state

    void check_state() {
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            if (bytes(s) == 0) continue;
            const std::uint32_t writer = program_.tensors[s].writer, block = offload_.block_of.at(s);
            const std::uint32_t value = writer == kNoWriter ? s
                                        : copied_[s]        ? copied(s)
                                                            : owners_[program_.output_of(writer)];
            const auto found = next_.find(block);
            if (writer == kNoWriter && found == next_.end()) continue;
            const std::uint64_t count = (bytes(s) + alignment_ - 1) / alignment_;
            need(found != next_.end() && found->second.size() >= count &&
                     Cells(found->second.begin(), found->second.begin() + static_cast<std::ptrdiff_t>(count)) ==
                         Cells(count, value),
                 "the next value of state " + std::to_string(s) + " is not in the store");
        }
    }

    const Program& program_;
    const MemoryPlan& plan_;
    const OffloadPlan& offload_;
    const std::uint64_t alignment_;
    const std::vector<std::uint32_t> owners_;
    Cells room_, spill_;
    std::map<std::uint32_t, Cells> current_, next_;  ///< The state in the store, by block.
    std::uint32_t unit_ = 0, transfer_ = 0, marks_ = 0;
    bool in_unit_ = false, in_transfer_ = false;
    Cells moved_, mark_;                              ///< Of the transfer at hand.
    std::vector<Access> reads_, writes_;              ///< Of the unit at hand.
    std::map<std::uint64_t, Cells> marks_of_writes_;  ///< By offset in the room.
    std::map<std::uint32_t, bool> copied_;
};

}  // namespace

std::optional<std::string> play(const OffloadedProgram& of, const OffloadPlan& offload, const TransferFirst& first) {
    try {
        Player(of, offload).run(first);
        return std::nullopt;
    } catch (const Wrong& wrong) {
        return wrong.what();
    } catch (const std::out_of_range&) {
        return "a number of nothing";
    }
}

}  // namespace retrace::kernels::testing
