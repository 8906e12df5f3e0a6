// SPDX-License-Identifier: MIT
#include "kernels/exec/offload_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/exec/arena.hpp"
#include "kernels/exec/offload_blocks.hpp"
#include "kernels/exec/offload_room.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint32_t kNoUse = 0xffffffff;
/// Blocks of units to come take at most this part of the room, so that what is used again soon stays in it.
constexpr std::uint64_t kAheadPart = 4;

std::uint64_t least_room_of(const OffloadBlocks& found, std::uint64_t alignment) {
    std::uint64_t most = alignment;
    for (const OffloadBlock& block : found.blocks)
        if (block.state != kNoBlock) most = std::max(most, block.bytes);  // where it is hashed
    for (const std::vector<BlockUse>& unit : found.uses) {
        std::uint64_t sum = 0;
        for (const BlockUse& use : unit) sum += found.blocks[use.block].bytes;
        most = std::max(most, sum);
    }
    return most;
}

class TransferScheduler {
public:
    TransferScheduler(OffloadBlocks found, std::uint64_t room)
        : found_(std::move(found)), room_(room), blocks_(found_.blocks.size()) {
        for (std::uint32_t unit = 0; unit < found_.uses.size(); ++unit)
            for (const BlockUse& use : found_.uses[unit]) {
                blocks_[use.block].uses.push_back({unit, use.reads});
                if (use.writes) blocks_[use.block].last_write = unit;
            }
    }

    OffloadPlan run() {
        for (unit_ = 0; unit_ < found_.uses.size(); ++unit_) {
            bring();
            note_unit();
            end_unit();
        }
        return finish();
    }

private:
    struct Use {
        std::uint32_t unit;
        bool reads;
    };
    struct Block {
        std::vector<Use> uses;
        std::size_t next = 0;  ///< Index of the first use that is not done.
        std::uint32_t last_write = kNoUse;
        bool in_room = false;
        std::uint64_t at = 0;
        std::uint64_t ready = 0, stored = 0;  ///< Keys of transfers: before a unit uses it; before one writes it.
        bool dirty = false;                   ///< The store does not have what the room has.
        bool written = false, ahead = false;
        std::uint32_t store_after = 0;
    };

    std::uint64_t bytes(std::uint32_t block) const { return found_.blocks[block].bytes; }
    std::uint32_t next_use(const Block& block) const {
        return block.next < block.uses.size() ? block.uses[block.next].unit : kNoUse;
    }

    std::uint64_t transfer(std::uint32_t number, bool store, std::uint32_t after) {
        Block& block = blocks_[number];
        const std::uint64_t key = transfer_key(after, static_cast<std::uint32_t>(transfers_.size()));
        const bool next = found_.blocks[number].state != kNoBlock && block.written;
        transfers_.push_back({key, {number, store, next, block.at, after}});
        room_.note(block.at, bytes(number), {after, key});
        return key;
    }

    void store(std::uint32_t number) {
        Block& block = blocks_[number];
        const std::uint32_t after = room_.history(block.at, bytes(number)).after;
        block.stored = transfer(number, true, after);
        block.store_after = after;
        block.dirty = false;
    }

    void evict(std::uint32_t number) {
        Block& block = blocks_[number];
        if (block.dirty && block.next < block.uses.size() && block.uses[block.next].reads) store(number);
        remove(number);
    }

    void remove(std::uint32_t number) {
        Block& block = blocks_[number];
        room_.remove(block.at);
        block.in_room = block.dirty = false;
        if (std::exchange(block.ahead, false)) ahead_ -= bytes(number);
    }

    void place_at(std::uint32_t number, std::uint64_t at) {
        std::vector<std::uint32_t> victims;
        for (const auto& [begin, rest] : room_.blocks())
            if (begin < at + bytes(number) && at < rest.first) victims.push_back(rest.second);
        for (const std::uint32_t victim : victims) evict(victim);
        Block& block = blocks_[number];
        const OffloadRoom::History history = room_.history(at, bytes(number));
        block.at = at;
        block.in_room = true;
        block.stored = 0;
        block.ready = block.uses[block.next].reads ? transfer(number, false, std::max(history.after, block.store_after))
                                                   : history.transfer;
        room_.place(at, bytes(number), number);
    }

    /// Places a block for unit `unit`, for which nothing leaves the room that is used until then.
    bool place(std::uint32_t number, std::uint32_t unit) {
        const auto at = room_.best_place(bytes(number), [&](std::uint32_t other) -> std::optional<double> {
            const Block& victim = blocks_[other];
            const std::uint32_t next = next_use(victim);
            if (next <= unit) return std::nullopt;
            const std::uint64_t moved = bytes(other) * (victim.dirty ? 2 : 1);
            return next == kNoUse ? 0 : static_cast<double>(moved) / (next - unit_);
        });
        if (at) place_at(number, *at);
        return at.has_value();
    }

    /// Empties the room and places the unit's blocks one beside the other.
    void repack() {
        std::vector<std::uint32_t> all;
        for (const auto& [begin, rest] : room_.blocks()) all.push_back(rest.second);
        for (const std::uint32_t block : all) evict(block);
        std::uint64_t at = 0;
        for (const BlockUse& use : found_.uses[unit_]) {
            place_at(use.block, at);
            at += bytes(use.block);
        }
        frontier_ = unit_ + 1;
    }

    /// Brings the blocks of the unit at hand, and those of the next ones as far as there is room.
    void bring() {
        for (frontier_ = std::max(frontier_, unit_); frontier_ < found_.uses.size(); ++frontier_) {
            for (const BlockUse& use : found_.uses[frontier_]) {
                Block& block = blocks_[use.block];
                if (block.in_room) continue;
                const bool ahead = frontier_ > unit_;
                if (ahead && ahead_ + bytes(use.block) > room_.bytes() / kAheadPart) return;
                if (!place(use.block, frontier_)) {
                    if (!ahead) repack();
                    return;
                }
                block.ahead = ahead;
                if (ahead) ahead_ += bytes(use.block);
            }
        }
    }

    void note_unit() {
        std::uint64_t needed = 0;
        plan_.units.emplace_back();
        for (const BlockUse& use : found_.uses[unit_]) {
            const Block& block = blocks_[use.block];
            needed = std::max({needed, block.ready, use.writes ? block.stored : 0});
            plan_.units.back().push_back({use.block, block.at});
        }
        needed_.push_back(needed);
    }

    void end_unit() {
        for (const BlockUse& use : found_.uses[unit_]) {
            Block& block = blocks_[use.block];
            room_.note(block.at, bytes(use.block), {unit_ + 1, 0});
            ++block.next;
            if (std::exchange(block.ahead, false)) ahead_ -= bytes(use.block);
            if (use.writes) block.dirty = block.written = true;
            if (found_.blocks[use.block].state != kNoBlock && block.last_write == unit_) store(use.block);
            if (block.next == block.uses.size()) remove(use.block);
        }
    }

    OffloadPlan finish() {
        std::sort(transfers_.begin(), transfers_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const std::uint64_t key : needed_) {
            const auto end = std::partition_point(transfers_.begin(), transfers_.end(),
                                                  [&](const auto& transfer) { return transfer.first <= key; });
            plan_.needed.push_back(static_cast<std::uint32_t>(end - transfers_.begin()));
        }
        for (const auto& [key, transfer] : transfers_) plan_.transfers.push_back(transfer);
        plan_.blocks = std::move(found_.blocks);
        plan_.block_of = std::move(found_.block_of);
        plan_.copies = std::move(found_.copies);
        plan_.room = room_.bytes();
        assign_spill();
        return std::move(plan_);
    }

    /// Places of the arena's pieces in the store; two share one if one is loaded for the last time before the other is
    /// stored.
    void assign_spill() {
        std::map<std::uint32_t, std::size_t> last;
        for (std::size_t i = 0; i < plan_.transfers.size(); ++i) last[plan_.transfers[i].block] = i;
        Arena arena;
        for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
            OffloadBlock& block = plan_.blocks[plan_.transfers[i].block];
            if (block.state != kNoBlock) continue;
            if (!std::exchange(block.spilled, true)) block.spill = arena.take(block.bytes);
            if (last[plan_.transfers[i].block] == i) arena.give(block.spill, block.bytes);
        }
        plan_.spill = arena.size();
    }

    OffloadBlocks found_;
    OffloadRoom room_;
    std::vector<Block> blocks_;
    std::uint32_t unit_ = 0, frontier_ = 0;  ///< The unit at hand; the first one whose blocks are not all placed.
    std::uint64_t ahead_ = 0;                ///< Bytes of blocks that were placed for a later unit.
    std::vector<std::pair<std::uint64_t, Transfer>> transfers_;  ///< With their keys.
    std::vector<std::uint64_t> needed_;                          ///< By unit: the key of the last transfer before it.
    OffloadPlan plan_;
};

}  // namespace

std::uint64_t OffloadPlan::bytes(bool to_store) const {
    std::uint64_t sum = 0;
    for (const Transfer& transfer : transfers)
        if (transfer.store == to_store) sum += blocks[transfer.block].bytes;
    return sum;
}

std::uint64_t least_room(const Program& program, const MemoryPlan& plan, std::uint64_t alignment) {
    return least_room_of(find_blocks(program, plan, alignment), alignment);
}

Result<OffloadPlan> plan_offload(const Program& program, const MemoryPlan& plan, const OffloadLimits& limits) {
    OffloadBlocks found = find_blocks(program, plan, limits.alignment);
    const std::uint64_t least = least_room_of(found, limits.alignment);
    if (limits.room < least)
        return error("a room of " + std::to_string(limits.room) + " bytes is too small: this program needs " +
                     std::to_string(least) + " at least");
    OffloadPlan offload = TransferScheduler(std::move(found), limits.room / limits.alignment * limits.alignment).run();
    RETRACE_CHECK(check_offload(program, plan, offload));
    return offload;
}

}  // namespace retrace::kernels
