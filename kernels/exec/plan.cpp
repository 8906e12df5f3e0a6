// SPDX-License-Identifier: MIT
#include "kernels/exec/plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kAlignment = 64;

std::uint64_t bytes_of(const TensorRecord& record) {
    const std::uint64_t bytes = geometry(record.dims).elements() * size_of(record.dtype);
    return (std::max<std::uint64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

/// Free runs of the arena, joined with their neighbours; the smallest run that fits is taken.
class Arena {
public:
    std::uint64_t take(std::uint64_t bytes) {
        auto best = free_.end();
        for (auto run = free_.begin(); run != free_.end(); ++run) {
            if (run->second >= bytes && (best == free_.end() || run->second < best->second)) best = run;
        }
        if (best == free_.end()) return grow(bytes);
        const auto [at, size] = *best;
        free_.erase(best);
        if (size > bytes) free_[at + bytes] = size - bytes;
        return at;
    }

    void give(std::uint64_t at, std::uint64_t bytes) {
        auto next = free_.lower_bound(at);
        if (next != free_.end() && at + bytes == next->first) {
            bytes += next->second;
            next = free_.erase(next);
        }
        if (next != free_.begin()) {
            const auto before = std::prev(next);
            if (before->first + before->second == at) {
                before->second += bytes;
                return;
            }
        }
        free_[at] = bytes;
    }

    std::uint64_t size() const noexcept { return size_; }

private:
    std::uint64_t grow(std::uint64_t bytes) {
        std::uint64_t at = size_;
        if (!free_.empty() && std::prev(free_.end())->first + std::prev(free_.end())->second == size_) {
            at = std::prev(free_.end())->first;
            free_.erase(std::prev(free_.end()));
        }
        size_ = at + bytes;
        return at;
    }

    std::map<std::uint64_t, std::uint64_t> free_;
    std::uint64_t size_ = 0;
};

class Planner {
public:
    Planner(const Program& program, bool isolated) : program_(program), isolated_(isolated) {
        plan_.places.resize(program.ops.size());
        owner_.resize(program.tensors.size());
        last_use_.assign(program.tensors.size(), 0);
        for (std::uint32_t t = 0; t < owner_.size(); ++t) owner_[t] = t;
    }

    MemoryPlan run() {
        find_aliases();
        find_last_uses();
        if (!isolated_) overwrite_states();
        allocate();
        return std::move(plan_);
    }

private:
    std::uint32_t ops() const { return static_cast<std::uint32_t>(program_.ops.size()); }

    void find_aliases() {
        if (isolated_) return;
        std::set<std::uint32_t> writers;
        for (std::uint32_t s = 0; s < program_.states; ++s) writers.insert(program_.tensors[s].writer);
        for (std::uint32_t i = 0; i < ops(); ++i) {
            if (program_.ops[i].code != OpCode::reshape) continue;
            const std::uint32_t input = program_.ops[i].inputs[0];
            // The next value of one state tensor may not lie in another one, which may be written first.
            if (writers.contains(i) && owner_[input] < program_.states) continue;
            owner_[program_.output_of(i)] = owner_[input];
            plan_.places[i] = {Place::Where::alias, input};
        }
    }

    void find_last_uses() {
        for (std::uint32_t i = 0; i < ops(); ++i) {
            last_use_[owner_[program_.output_of(i)]] = std::max(last_use_[owner_[program_.output_of(i)]], i);
            for (const std::uint32_t input : program_.ops[i].inputs) last_use_[owner_[input]] = i;
        }
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t writer = program_.tensors[s].writer;
            if (writer != kNoWriter) last_use_[owner_[program_.output_of(writer)]] = ops();
        }
    }

    /// The writer reads its state tensor element by element or not at all, and nobody reads it later.
    bool may_overwrite(std::uint32_t state, std::uint32_t writer) const {
        const std::uint32_t output = program_.output_of(writer);
        if (owner_[output] != output || last_use_[state] > writer) return false;
        const std::vector<std::uint32_t>& inputs = program_.ops[writer].inputs;
        const bool reads = std::any_of(inputs.begin(), inputs.end(), [&](auto in) { return owner_[in] == state; });
        if (!reads) return true;
        if (!is_elementwise(program_.ops[writer].code)) return false;
        const Geometry shape = geometry(program_.tensors[output].dims);
        return std::all_of(inputs.begin(), inputs.end(), [&](std::uint32_t in) {
            return owner_[in] != state || spread_of(shape, geometry(program_.tensors[in].dims)) == Spread::full;
        });
    }

    void overwrite_states() {
        std::vector<bool> taken(ops(), false);
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t writer = program_.tensors[s].writer;
            if (writer == kNoWriter || taken[writer] || !may_overwrite(s, writer)) continue;
            taken[writer] = true;
            plan_.places[writer] = {Place::Where::state, s};
        }
    }

    void allocate() {
        Arena arena;
        std::vector<std::vector<std::uint32_t>> ends(ops() + 1);
        for (std::uint32_t i = 0; i < ops(); ++i) {
            if (plan_.places[i].where == Place::Where::arena) ends[last_use_[program_.output_of(i)]].push_back(i);
        }
        for (std::uint32_t i = 0; i < ops(); ++i) {
            if (plan_.places[i].where == Place::Where::arena) {
                plan_.places[i].at = arena.take(bytes_of(program_.tensors[program_.output_of(i)]));
            }
            for (const std::uint32_t done : ends[i]) {
                arena.give(plan_.places[done].at, bytes_of(program_.tensors[program_.output_of(done)]));
            }
        }
        plan_.bytes = arena.size();
    }

    const Program& program_;
    const bool isolated_;
    MemoryPlan plan_;
    std::vector<std::uint32_t> owner_;     ///< The tensor whose memory a tensor shares; itself where it has its own.
    std::vector<std::uint32_t> last_use_;  ///< Op that reads an owner's memory last; the op count: after the step.
};

}  // namespace

MemoryPlan plan_memory(const Program& program, bool isolated) { return Planner(program, isolated).run(); }

}  // namespace retrace::kernels
